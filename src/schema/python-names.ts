const words = (text: string): string[] => text.trim().split(/\s+/);

/** Words that Python's grammar keeps for itself: they cannot even be an attribute. */
const keywords = new Set(
  words(`False None True and as assert async await break class continue def del elif else except finally for from
    global if import in is lambda nonlocal not or pass raise return try while with yield`),
);

/** Names that a program expects to mean something else: builtins, importable modules, and our own host functions. */
const occupied = new Set(
  words(`abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex
    delattr dict dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help
    hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow
    print property quit range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars
    zip parallel
    abc argparse array ast asyncio base64 binascii bisect builtins calendar cmath codecs collections contextlib copy
    csv dataclasses datetime decimal difflib email enum fractions functools glob gzip hashlib heapq hmac html http
    importlib inspect io ipaddress itertools json locale logging math mimetypes numbers operator os pathlib pickle
    platform pprint queue random re secrets select shlex shutil signal socket sqlite3 ssl stat statistics string
    struct subprocess sys tempfile textwrap threading time timeit tomllib traceback types typing unicodedata unittest
    urllib uuid warnings weakref xml zipfile zlib zoneinfo`),
);

/** True for words that Python's grammar keeps for itself. */
export const isPythonKeyword = (word: string): boolean => keywords.has(word);

/** True for what a program can write as a name of its own. */
export const isPythonName = (text: string): boolean =>
  /^[\p{XID_Start}_]\p{XID_Continue}*$/u.test(text) && !keywords.has(text);

/**
 * The name of a bundle in a program: dashes as underscores, and a trailing `_` where the word already means
 * something in Python (keyword, builtin, importable module).
 */
export function packName(bundleSlug: string): string {
  const name = bundleSlug.replaceAll('-', '_');
  return keywords.has(name) || occupied.has(name) ? `${name}_` : name;
}

/** The name of a tool in its pack: dashes as underscores; what Python could not read as a name gets an underscore more. */
export function functionName(toolSlug: string): string {
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(toolSlug);
  const name = isPlain ? toolSlug : toolSlug.replace(/[^\p{ID_Continue}]/gu, '_');
  if (keywords.has(name)) return `${name}_`;
  if (isPlain) return name;
  return /^\p{Nd}/u.test(name) ? `_${name}` : name;
}

const callNames = new WeakMap<object, string>();

/** How a program calls a tool: `pack.function`. Kept per object, because every call is recorded under it. */
export function callName(tool: { bundleSlug: string; slug: string }): string {
  const known = callNames.get(tool);
  if (known !== undefined) return known;
  const name = `${packName(tool.bundleSlug)}.${functionName(tool.slug)}`;
  callNames.set(tool, name);
  return name;
}
