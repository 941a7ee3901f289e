import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { Document, isMap, isScalar, isSeq, parse, Scalar, type Node, type YAMLMap, type YAMLSeq } from 'yaml';

/** Keys whose values look like numbers but never are. */
const alwaysQuoted = new Set(['version', 'python', 'node']);
const maxFlowLevels = 2;
const pieceLength = 50;
const longLength = 500;

/**
 * YAML for models and people: a map of scalars in flow style, a list of maps as block sequence of flow items, a map
 * with nested values as block keys with flow values; never more than two flow levels inside one another. A string
 * that any YAML version would read as something else is quoted.
 */
export function yamlFlow(value: unknown): string {
  if (typeof value === 'string') return scalarText(value);
  const document = new Document(value, { compat: 'yaml-1.1', version: '1.2', aliasDuplicateObjects: false });
  const root = document.contents as Node | null;
  if (root) style(root, true);
  return escaped(document.toString({ lineWidth: 0, flowCollectionPadding: false, nullStr: 'null' }).replace(/\n$/, ''));
}

/** What readers refuse or take for the end of a line, even in quotes. Strings that hold it are always in double quotes. */
const unreadable = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

const escaped = (text: string): string =>
  text.replace(unreadable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** As yamlFlow, for answers of any length: long lists are written in pieces, with turns for others in between. */
export async function longYamlFlow(value: unknown): Promise<string> {
  if (Array.isArray(value)) {
    if (isLongList(value)) return flowList(value);
    if (value.length <= pieceLength || value.some(isScalarValue)) return yamlFlow(value);
    const pieces: string[] = [];
    for await (const piece of inPieces(value, pieceLength)) pieces.push(piece);
    return pieces.join('\n');
  }
  if (typeof value !== 'object' || value === null) return yamlFlow(value);
  const long = Object.entries(value).filter(([, each]) => isLongList(each)) as [string, unknown[]][];
  if (long.length === 0) return yamlFlow(value);
  const marks = new Map(long.map(([key]) => [key, `list${randomUUID()}`]));
  let text = yamlFlow({ ...value, ...Object.fromEntries(marks.entries().map(([key, mark]) => [key, [mark]])) });
  for (const [key, list] of long) {
    const written = await flowList(list);
    text = text.replace(`[${marks.get(key)}]`, () => written);
  }
  return text;
}

const isScalarValue = (value: unknown): boolean => typeof value !== 'object' || value === null;
const isLongList = (value: unknown): boolean =>
  Array.isArray(value) && value.length > longLength && value.every(isScalarValue);

async function flowList(list: unknown[]): Promise<string> {
  const pieces: string[] = [];
  for await (const piece of inPieces(list, longLength)) pieces.push(piece.slice(1, -1).trim());
  return `[${pieces.join(', ')}]`;
}

async function* inPieces(list: unknown[], length: number): AsyncGenerator<string> {
  for (let at = 0; at < list.length; at += length) {
    yield yamlFlow(list.slice(at, at + length));
    await turn();
  }
}

function style(node: Node, isTop: boolean): void {
  if (isScalar(node)) quote(node);
  if (!isMap(node) && !isSeq(node)) return;
  // At the top nesting is shown by lines; below it, two levels fit on one.
  if (flowLevels(node) <= (isTop ? 1 : maxFlowLevels)) node.flow = true;
  for (const child of childrenOf(node)) style(child, false);
}

function childrenOf(node: YAMLMap | YAMLSeq): Node[] {
  const children: Node[] = [];
  for (const item of node.items) {
    if (isSeq(node)) children.push(item as Node);
    else {
      const pair = item as { key: Scalar; value: Node | null };
      quote(pair.key);
      if (isScalar(pair.value) && typeof pair.value.value === 'string' && alwaysQuoted.has(String(pair.key.value)))
        pair.value.type = Scalar.QUOTE_DOUBLE;
      if (pair.value) children.push(pair.value);
    }
  }
  return children;
}

/** Levels of collections: an empty one needs no line of its own and counts as a scalar. */
function flowLevels(node: YAMLMap | YAMLSeq): number {
  if (node.items.length === 0) return 0;
  let most = 0;
  for (const item of node.items)
    most = Math.max(most, levelsOf(isSeq(node) ? item : (item as { value: unknown }).value));
  return 1 + most;
}

const levelsOf = (node: unknown): number => (isMap(node) || isSeq(node) ? flowLevels(node) : 0);

/** Double quotes for what would not come back as the same string, and for everything with line breaks. */
function quote(scalar: Scalar): void {
  const { value } = scalar;
  if (typeof value !== 'string' || scalar.type === Scalar.QUOTE_DOUBLE) return;
  if (
    /[\n\r\t\x7F-\x9F\u2028\u2029\uFEFF]|[^\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u.test(value) ||
    isAmbiguous(value)
  )
    scalar.type = Scalar.QUOTE_DOUBLE;
}

/** Words that some YAML 1.1 reader takes for a boolean, a number in base 60, a date, a merge key or null. */
function isAmbiguous(text: string): boolean {
  if (/^(?:y|n|yes|no|on|off|true|false|null|~|=|<<)$/i.test(text)) return true;
  if (
    /^[-+]?(?:\d[\d_]*(?::[0-5]?\d)+(?:\.\d*)?|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?|0[oxb][\da-f_]+|[\d_,]*\.?[\d_]+(?:e[-+]?\d+)?|\.inf|\.nan)$/i.test(
      text,
    )
  )
    return true;
  return false;
}

function scalarText(text: string): string {
  const needsQuotes = text === '' || isAmbiguous(text) || !isPlain(text);
  return needsQuotes ? escaped(JSON.stringify(text)) : text;
}

function isPlain(text: string): boolean {
  try {
    return text.search(unreadable) < 0 && parse(text) === text && parse(text, { version: '1.1' }) === text;
  } catch {
    return false;
  }
}
