import { isMap, isNode, isScalar, type Document, type Node, type Scalar } from 'yaml';
import { fail, Failure } from '../schema/index.ts';
import { withoutLines } from './remove-key.ts';
import { compose } from './yaml-file.ts';

/** The text of config.yaml with one value set, or deleted when it is undefined; everything else, comments too, stays. */
export function edited(file: string, text: string, path: readonly (string | number)[], value: unknown): string {
  if (path.length === 0 || path.some((step) => step === '__proto__' || step === ''))
    throw fail('request.invalid', {
      reason: 'the path of a setting needs at least one key. Use for example ["output","maxInlineBytes"].',
    });
  const { doc } = compose(file, text);
  if (value === undefined && !doc.hasIn(path)) return text;
  try {
    const left = value === undefined ? withoutLines(file, text, doc, path) : undefined;
    if (left !== undefined) return left;
    keepLeadingComment(doc);
    if (value === undefined) doc.deleteIn(path);
    else {
      makeWay(doc, path);
      doc.setIn(path, withComments(doc, path, doc.createNode(value)));
    }
  } catch (error) {
    // The path leads through something that is no map: a list, a set or plain text.
    throw error instanceof Failure ? error : cannotHold(file, path, error);
  }
  const written = doc.toString({ lineWidth: 0 });
  const whole = written.endsWith('\n') ? written : `${written}\n`;
  return text.includes('\r\n') ? whole.replaceAll(/\r?\n/g, '\r\n') : whole;
}

const cannotHold = (file: string, path: readonly (string | number)[], cause: unknown): Failure =>
  fail(
    'request.invalid',
    { reason: `${path.join('.')} has no place in ${file} as it is: above it stands something that is no map.` },
    { cause },
  );

/** Comments beside the old value describe the setting, not the value, so they move to the new one. */
function withComments(doc: Document, path: readonly (string | number)[], node: Node): Node {
  const old = doc.getIn(path, true);
  if (!isNode(old)) return node;
  node.commentBefore ??= old.commentBefore;
  node.comment ??= old.comment;
  return node;
}

/** A file of comments alone has them after its (missing) content; they belong in front of what is added. */
function keepLeadingComment(doc: Document): void {
  if (doc.contents !== null || doc.comment === null) return;
  doc.commentBefore = [doc.commentBefore, doc.comment].filter(Boolean).join('\n');
  doc.comment = null;
}

/** `aliases:` without a value is null: it becomes a map before something is put into it. */
function makeWay(doc: Document, path: readonly (string | number)[]): void {
  for (let length = 1; length < path.length; length++) {
    const above = path.slice(0, length);
    const node = doc.getIn(above, true);
    if (node === undefined) return;
    if (isScalar(node) && node.value === null) doc.setIn(above, mapInPlaceOf(doc, node));
    else if (isScalar(node))
      throw fail('request.invalid', {
        reason: `${above.join('.')} is a plain value and cannot hold ${String(path[length])}.`,
      });
    else if (isMap(node)) continue;
  }
}

function mapInPlaceOf(doc: Document, empty: Scalar): unknown {
  const map = doc.createNode({});
  map.commentBefore = [empty.commentBefore, empty.comment].filter(Boolean).join('\n') || null;
  return map;
}
