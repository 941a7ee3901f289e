// Makes what the published package runs: node scripts/build.js [FOLDER]
// The server alone, for the clone: node scripts/build.js --server FOLDER
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleProgram, bundleServer, dist } from './bundle.js';
import { root } from './install.js';
import { buildWeb } from './web.js';

const node = process.execPath;
const { values, positionals } = parseArgs({ options: { server: { type: 'boolean' } }, allowPositionals: true });
const target = positionals[0] ? resolve(positionals[0]) : dist;
const out = `${target}.${process.pid}.tmp`;

await bundleServer(out);
if (!values.server) {
  await bundleProgram('sdk', out);
  declareSdk();
  buildWeb(node);
  if (existsSync(join(root, 'ui', 'dist'))) cpSync(join(root, 'ui', 'dist'), join(out, 'web'), { recursive: true });
}
// Only a whole build takes the place of the old one. The clone's are named by what they were made of: the first will do.
if (!values.server) rmSync(target, { recursive: true, force: true });
try {
  renameSync(out, target);
} catch (error) {
  rmSync(out, { recursive: true, force: true });
  if (!values.server) throw error;
}

/** Types for callers: the declarations of sdk.ts and of all it names. */
function declareSdk() {
  const types = join(out, 'types');
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const flags = [
    '--declaration',
    '--emitDeclarationOnly',
    '--noEmit',
    'false',
    '--rewriteRelativeImportExtensions',
    '--ignoreConfig',
  ];
  const options = [
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--skipLibCheck',
    '--types',
    'node',
    '--rootDir',
    'src',
  ];
  const done = spawnSync(node, [tsc, ...flags, ...options, '--outDir', types, 'src/sdk.ts'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (done.status !== 0) process.exit(1);
  writeFileSync(join(out, 'sdk.d.ts'), "export * from './types/sdk.js';\n");
}
