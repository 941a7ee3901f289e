// Plain JavaScript that Node 20 understands. Installs what is missing, then runs a file with the Node of the project:
//   node scripts/with-node.js FILE [ARGS]
import { resolve } from 'node:path';
import { install, root } from './install.js';
import { nodeEnvironment, nodeFlags } from './node.js';
import { runInForeground } from './run-child.js';

const [file, ...args] = process.argv.slice(2);
if (!file) {
  console.error('Usage: node scripts/with-node.js FILE [ARGS]');
  process.exit(2);
}
process.exitCode = await runInForeground(install(), [...nodeFlags, resolve(root, file), ...args], {
  env: nodeEnvironment(),
});
