import { isDeepStrictEqual } from 'node:util';
import { isCollection, isMap, isNode, isPair, isScalar, type Document, type Pair, type YAMLMap } from 'yaml';
import { compose } from './yaml-file.ts';

/**
 * The text without the lines of one setting. To write the document anew would take comments with it that stand above the
 * setting or behind it: those at the top of the file, or those of the next one. Undefined where it has no lines of its own.
 */
export function withoutLines(
  file: string,
  text: string,
  doc: Document,
  path: readonly (string | number)[],
): string | undefined {
  const above = path.length === 1 ? doc.contents : doc.getIn(path.slice(0, -1), true);
  // Without its only setting a section would be nothing instead of an empty map.
  if (!isMap(above) || above.flow || (path.length > 1 && above.items.length === 1)) return undefined;
  const lines = linesOf(text, above, path.at(-1)!);
  if (!lines) return undefined;
  const left = text.slice(0, lines.start) + text.slice(lines.end);
  const meant = doc.clone() as Document;
  meant.deleteIn(path);
  const rest = compose(file, left).doc.toJS() as unknown;
  return isDeepStrictEqual(rest ?? {}, meant.toJS() ?? {}) ? left : undefined;
}

function linesOf(text: string, map: YAMLMap, name: string | number): { start: number; end: number } | undefined {
  const pair = map.items.find(({ key }) => isScalar(key) && String(key.value) === String(name));
  const keyAt = isNode(pair?.key) ? pair.key.range?.[0] : undefined;
  if (!pair || keyAt === undefined) return undefined;
  const start = text.lastIndexOf('\n', keyAt - 1) + 1;
  const last = endOf(pair);
  if (last === undefined || text.slice(start, keyAt).trim() !== '') return undefined;
  // A text over several lines ends with its last line break.
  const end = text[last - 1] === '\n' ? last : text.indexOf('\n', last) + 1;
  return { start, end: end === 0 ? text.length : end };
}

/** Where the last value in it ends; what a map or list in lines counts as its own end lies behind later comments. */
function endOf(part: unknown): number | undefined {
  if (isPair(part)) return endOf((part as Pair).value) ?? endOf((part as Pair).key);
  if (isCollection(part) && !part.flow && part.items.length > 0) return endOf(part.items.at(-1));
  return isNode(part) ? part.range?.[1] : undefined;
}
