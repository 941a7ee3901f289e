// Makes dist/, which is what the published package runs: node scripts/build.js [FOLDER]
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { bundleProgram, dist, shared } from './bundle.js';
import { root } from './install.js';
import { buildWeb } from './web.js';

const node = process.execPath;
const target = process.argv[2] ? resolve(process.argv[2]) : dist;
const out = `${target}.${process.pid}.tmp`;
mkdirSync(out, { recursive: true });

await build({
  ...shared,
  entryPoints: Object.fromEntries(
    ['cli', ...childPrograms()].map((name) => [name.replaceAll('/', '-'), join(root, 'src', `${name}.ts`)]),
  ),
  outdir: out,
  splitting: true,
  chunkNames: 'chunk-[hash]',
  packages: 'external',
});
for (const name of ['client', 'supervisor', 'embedded-agent', 'code/child', 'sdk'])
  if (existsSync(join(root, 'src', `${name}.ts`))) await bundleProgram(name, out);
if (existsSync(join(root, 'src', 'sdk.ts'))) declareSdk();
for (const file of ['node.js', 'run-child.js']) cpSync(join(root, 'scripts', file), join(out, file));
buildWeb(node);
if (existsSync(join(root, 'ui', 'dist'))) cpSync(join(root, 'ui', 'dist'), join(out, 'web'), { recursive: true });
// Only a whole build takes the place of the old one.
rmSync(target, { recursive: true, force: true });
renameSync(out, target);

/** Programs that others start by `entryPoint('...')`. */
function childPrograms() {
  const names = new Set();
  for (const file of globSync('src/**/*.ts', { cwd: root, exclude: (name) => String(name).endsWith('.test.ts') }))
    for (const [, name] of readFileSync(join(root, file), 'utf8').matchAll(/\bentryPoint\(\s*'([^']+)'/g))
      names.add(name);
  return [...names].filter((name) => existsSync(join(root, 'src', `${name}.ts`)));
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
