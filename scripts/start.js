import { builtProgram } from './built.js';
import { install } from './install.js';
import { nodeEnvironment, nodeFlags } from './node.js';
import { runInForeground } from './run-child.js';
import { buildWebIfStale } from './web.js';

const node = install();
buildWebIfStale(node);
const args = [...nodeFlags, builtProgram(node), 'serve', ...process.argv.slice(2)];
process.exitCode = await runInForeground(node, args, { env: nodeEnvironment() });
