// The oxlint rule `rooms/arrows`: imports follow the table of rooms.js.
import { posix, sep } from 'node:path';
import { refusal } from './rooms.js';

const arrows = {
  create(context) {
    const path = context.filename.split(sep).join('/');
    const isPage = path.includes('/ui/src/');
    const at = path.lastIndexOf('/src/');
    const file = at < 0 ? undefined : path.slice(at + 5);
    const check = (node) => {
      if (!file || typeof node.source?.value !== 'string') return;
      const reason = isPage ? pageRefusal(file, node) : refusal(file, node.source.value);
      if (reason) context.report({ node: node.source, message: reason });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

/** The web app takes nothing of the server but types of its schema. */
function pageRefusal(file, { source, importKind, exportKind }) {
  if (file.endsWith('.test.ts')) return undefined;
  const target = posix.normalize(posix.join('ui/src', posix.dirname(file), source.value));
  if (!source.value.startsWith('.') || target.startsWith('ui/src/')) return undefined;
  const isType = importKind === 'type' || exportKind === 'type';
  return target.startsWith('src/schema/') && isType
    ? undefined
    : `ui may import types of src/schema and nothing else outside; not ${target}`;
}

export default { meta: { name: 'rooms' }, rules: { arrows } };
