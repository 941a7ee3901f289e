// The oxlint rule `rooms/arrows`: imports follow the table of rooms.js.
import { sep } from 'node:path';
import { refusal } from './rooms.js';

const arrows = {
  create(context) {
    const path = context.filename.split(sep).join('/');
    const at = path.lastIndexOf('/src/');
    const file = at < 0 ? undefined : path.slice(at + 5);
    const check = (node) => {
      if (!file || typeof node.source?.value !== 'string') return;
      const reason = refusal(file, node.source.value);
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

export default { meta: { name: 'rooms' }, rules: { arrows } };
