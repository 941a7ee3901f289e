#!/usr/bin/env node
// Plain JavaScript for Node 20 and newer: starts the real program on the Node that the package brings.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isClone = existsSync(join(root, 'src', 'cli.ts'));
const { findNode, neededMajor, nodeEnvironment, nodeFlags } = await import(
  isClone ? '../scripts/node.js' : '../dist/node.js'
);
const { runInForeground } = await import(isClone ? '../scripts/run-child.js' : '../dist/run-child.js');

const args = process.argv.slice(2);
let node = findNode(import.meta.url);
let program = join(root, 'dist', 'cli.js');
if (isClone) {
  node = (await import('../scripts/install.js')).install();
  // Only what runs for long is worth a build.
  const isServer = args.some((arg) => arg === 'serve' || arg === 'mcp');
  program = (await import('../scripts/built.js')).builtProgram(node, { onlyIfThere: !isServer });
}
if (!node) {
  console.error(
    `oubliette needs Node ${neededMajor}, and there is no packaged one for ${process.platform}-${process.arch}.\n` +
      `Install Node ${neededMajor} and run oubliette with it, or reinstall without --omit=optional.`,
  );
  process.exit(1);
}
process.exitCode = await runInForeground(node, [...nodeFlags, program, ...args], { env: nodeEnvironment() });
