import { readFile, stat } from 'node:fs/promises';
import { isMap, isPair, isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml';
import { isObject } from '../schema/index.ts';

/** Something wrong in a file, where it is, and what to do. */
export interface Problem {
  file: string;
  line: number;
  reason: string;
}

/** Why a file was not taken: everything that is wrong with it, not only the first thing. */
export class Problems extends Error {
  readonly list: readonly Problem[];
  constructor(list: readonly Problem[]) {
    super(list.map(inWords).join('\n'));
    this.list = list;
  }
}

export const inWords = (each: Problem): string => `${each.file}:${each.line}: ${each.reason}`;

const broken = (file: string, line: number, reason: string): Problems => new Problems([problem(file, line, reason)]);

/** One YAML file that was read: its value, and where in the text each part stands. */
export interface YamlFile {
  file: string;
  text: string;
  value: Record<string, unknown>;
  lineOf(path: readonly (string | number)[]): number;
}

const maxBytes = 256 * 1024;
const maxDepth = 64;
// As the library counts alias expansions; a real configuration needs a handful.
const maxAliases = 100;

/** The text of a file, or undefined when there is none. Throws Problems for what is no readable text file. */
export async function readText(file: string): Promise<string | undefined> {
  try {
    // Looked at before it is opened: opening a pipe would wait for a writer.
    const info = await stat(file);
    if (!info.isFile()) throw broken(file, 1, 'this is not a regular file. Put a YAML file here.');
    if (info.size > maxBytes)
      throw broken(file, 1, `the file has ${info.size} bytes, at most ${maxBytes} are read. Split or shorten it.`);
    const bytes = await readFile(file);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof Problems) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw broken(file, 1, 'the file is not UTF-8 text. Save it as UTF-8.');
    throw broken(
      file,
      1,
      `the file cannot be read (${code ?? String(error)}). Check that it exists and who may read it.`,
    );
  }
}

/** Parses one file. Throws Problems when it is not one clean YAML map. */
export function parseYaml(file: string, text: string): YamlFile {
  const { doc, lines } = compose(file, text);
  const lineOf = (path: readonly (string | number)[]): number => lineOfPath(doc, lines, path);
  refuseOddParts(file, doc, lines);
  let value: unknown;
  try {
    value = doc.toJS({ maxAliasCount: maxAliases });
  } catch (error) {
    throw broken(file, 1, `${(error as Error).message}. Write the values out instead of using so many aliases.`);
  }
  if (value === null || value === undefined) value = {};
  if (!isObject(value))
    throw broken(file, 1, 'the file must be a map of keys, such as "allowedHosts: [api.example.com]".');
  return { file, text, value, lineOf };
}

/** The document with comments and positions; throws Problems for bad syntax. */
export function compose(file: string, text: string): { doc: Document; lines: LineCounter } {
  refuseDeepNesting(file, text);
  const lines = new LineCounter();
  let doc: Document;
  try {
    doc = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  } catch (error) {
    throw broken(file, 1, `this cannot be read as YAML: ${(error as Error).message}.`);
  }
  if (doc.errors.length > 0)
    throw new Problems(
      doc.errors
        .slice(0, 20)
        .map((each) => problem(file, lines.linePos(each.pos[0]).line, syntaxReason(each.code, each.message))),
    );
  return { doc, lines };
}

export const problem = (file: string, line: number, reason: string): Problem => ({ file, line, reason });

function syntaxReason(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this key stands twice in the same map. Remove one of the two.';
  if (code === 'MULTIPLE_DOCS') return 'the file holds several documents. Remove the "---" lines between them.';
  if (code === 'TAB_AS_INDENT') return 'a tab is used for indentation. Use spaces.';
  return `this is not valid YAML: ${message}. Check indentation, quotes and brackets here.`;
}

/** The parser recurses: brackets nested a hundred thousand deep would end in a stack overflow, or take minutes. */
function refuseDeepNesting(file: string, text: string): void {
  let open = 0;
  let line = 1;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '\n') {
      line++;
      let indent = 0;
      while (/[ \-?]/.test(text[i + 1 + indent] ?? '')) indent++;
      if (indent > maxDepth * 8)
        throw broken(file, line, `values are nested too deep here. At most ${maxDepth} levels are read.`);
    } else if (char === '[' || char === '{') open++;
    else if (char === ']' || char === '}') open = Math.max(0, open - 1);
    if (open > maxDepth * 16)
      throw broken(file, line, `brackets are nested too deep here. At most ${maxDepth} levels are read.`);
  }
}

function refuseOddParts(file: string, doc: Document, lines: LineCounter): void {
  const found: Problem[] = [];
  visit(doc, {
    Node(_key, node, path) {
      const line = node.range ? lines.linePos(node.range[0]).line : 1;
      if (path.length > maxDepth * 2) {
        found.push(problem(file, line, `values are nested too deep here. At most ${maxDepth} levels are read.`));
        return visit.BREAK;
      }
      return undefined;
    },
    Pair(_key, pair) {
      const key = pair.key;
      const line = isScalar(key) && key.range ? lines.linePos(key.range[0]).line : 1;
      if (!isScalar(key)) found.push(problem(file, line, 'a key must be plain text.'));
      else if (typeof key.value === 'string' && /\p{Cc}/u.test(key.value))
        found.push(problem(file, line, 'a key holds a control character. Remove it.'));
      else if (key.value === '__proto__')
        found.push(problem(file, line, 'the key "__proto__" is not allowed. Choose another name.'));
      return undefined;
    },
  });
  for (const warning of doc.warnings)
    found.push(problem(file, lines.linePos(warning.pos[0]).line, `${warning.message}. Remove the tag.`));
  if (found.length > 0) throw new Problems(found.slice(0, 20));
}

/** The line of the key (or list item) at a path; of the nearest part above it that exists. */
function lineOfPath(doc: Document, lines: LineCounter, path: readonly (string | number)[]): number {
  let offset = 0;
  let node: unknown = doc.contents;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(
        (each) => isPair(each) && isScalar(each.key) && String(each.key.value) === String(step),
      );
      if (!pair) break;
      if (isScalar(pair.key) && pair.key.range) offset = pair.key.range[0];
      node = pair.value;
    } else {
      const items = (node as { items?: unknown[] } | null)?.items;
      const item = items?.[Number(step)] as { range?: [number, number, number] | null } | undefined;
      if (!item) break;
      if (item.range) offset = item.range[0];
      node = item;
    }
  }
  return lines.linePos(offset).line || 1;
}
