import type { LogicalLine, Token } from './python-tokens.ts';

/** A call of something that the program does not define itself, as its text shows it. */
export interface CallSite {
  pack?: string;
  name: string;
  line: number;
  positional: number;
  keywords: string[];
  /** True when `*` or `**` may add more arguments. */
  isPartial: boolean;
}

/** Arguments that are longer than this are left to be checked when the call is made. */
const mostTokens = 1000;
const mostSites = 1000;

/** Names with methods of their own in every program: `str.join`, `dict.fromkeys`. */
const builtinTypes = new Set('bool bytes dict float frozenset int list object range set str tuple type'.split(' '));

/**
 * Calls outside of `try`: inside one the program may be waiting for exactly the error that a check would report. Of calls
 * that look the same to a check, the first.
 */
export function callSites(lines: readonly LogicalLine[], boundNames: ReadonlySet<string>): CallSite[] {
  const sites: CallSite[] = [];
  const tryIndents: number[] = [];
  for (const { tokens, indent } of lines) {
    while (tryIndents.length > 0 && indent <= tryIndents.at(-1)!) tryIndents.pop();
    if (tokens[0]!.text === 'try') tryIndents.push(indent);
    if (tryIndents.length === 0 && sites.length < mostSites) collect(tokens, boundNames, sites);
  }
  const seen = new Set<string>();
  return sites.filter((site) => seen.size < seen.add(JSON.stringify({ ...site, line: 0 })).size);
}

function collect(tokens: readonly Token[], boundNames: ReadonlySet<string>, sites: CallSite[]): void {
  for (let i = 0; i < tokens.length && sites.length < mostSites; i++) {
    const token = tokens[i]!;
    if (token.inner) collect(token.inner, boundNames, sites);
    if (token.kind !== 'name' || boundNames.has(token.text) || builtinTypes.has(token.text)) continue;
    const before = tokens[i - 1]?.text;
    if (before === '.' || before === 'def') continue;
    const isInPack = tokens[i + 1]?.text === '.' && tokens[i + 2]?.kind === 'name';
    const open = isInPack ? i + 3 : i + 1;
    if (tokens[open]?.text !== '(') continue;
    const args = readArguments(tokens, open);
    if (!args) continue;
    const { line, text } = token;
    sites.push(isInPack ? { pack: text, name: tokens[i + 2]!.text, line, ...args } : { name: text, line, ...args });
  }
}

/** The arguments between the brackets, as far as their text tells; undefined when they do not end soon. */
function readArguments(
  tokens: readonly Token[],
  open: number,
): { positional: number; keywords: string[]; isPartial: boolean } | undefined {
  const depth = tokens[open]!.depth + 1;
  const end = Math.min(tokens.length, open + mostTokens);
  const keywords: string[] = [];
  let positional = 0;
  let isPartial = false;
  let startsArgument = true;
  for (let i = open + 1; i < end; i++) {
    const token = tokens[i]!;
    if (token.depth < depth) return { positional, keywords, isPartial };
    if (token.depth > depth) continue;
    if (token.text === ',' && token.kind === 'op') {
      startsArgument = true;
      continue;
    }
    if (!startsArgument) continue;
    startsArgument = false;
    if (token.text === '*' || token.text === '**') isPartial = true;
    else if (token.kind === 'name' && tokens[i + 1]?.text === '=') keywords.push(token.text);
    else positional++;
  }
  return undefined;
}
