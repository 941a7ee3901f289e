import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, globSync, readFileSync } from 'node:fs';
import { access, constants, mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, stop } from 'esbuild';
import { root } from './install.js';
import { lateModules } from './late-modules.js';

export const dist = join(root, 'dist');

const shared = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  logLevel: 'warning',
  absWorkingDir: root,
  minifySyntax: true,
  // Some bundled packages are CommonJS and call require for Node's own modules.
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
};

/** A program of a room is also built as a part of the server, under its plain name: the lone bundle needs another. */
const bundleName = (name) => (name.includes('/') ? `inside-${name.replaceAll('/', '-')}` : name);

/** The clone may belong to somebody else. */
async function writableFolder() {
  const isOurs = await mkdir(dist, { recursive: true })
    .then(() => access(dist, constants.W_OK))
    .then(
      () => true,
      () => false,
    );
  return isOurs ? dist : mkdtemp(join(tmpdir(), 'oubliette-bundles-'));
}

/**
 * Bundles one program of src/ with all it needs into one file, dist/NAME.js, and answers that path. Several processes may do
 * this at once: the file appears whole or not at all.
 */
export async function bundleProgram(name, folder) {
  folder ??= await writableFolder();
  const file = await bundleAlone(name, folder);
  await stop();
  return file;
}

async function bundleAlone(name, folder) {
  await mkdir(folder, { recursive: true });
  const flat = bundleName(name);
  const outfile = join(folder, `${flat}.js`);
  const temp = join(folder, `.${flat}-${randomBytes(6).toString('hex')}.js`);
  // Written by ourselves: the bundler is a process of its own, and would write on when we are killed.
  const { outputFiles } = await build({ ...shared, entryPoints: [source(name)], outfile, write: false });
  await writeFile(temp, outputFiles[0].contents);
  await rename(temp, outfile);
  return outfile;
}

/** Everything that the server runs, packages included: it starts in half the time and memory that single modules need. */
export async function bundleServer(folder) {
  await mkdir(folder, { recursive: true });
  const parts = build({
    ...shared,
    entryPoints: Object.fromEntries(
      ['cli', ...childPrograms()].map((name) => [name.replaceAll('/', '-'), source(name)]),
    ),
    outdir: folder,
    splitting: true,
    chunkNames: 'chunk-[hash]',
    // Packages that have both are taken as modules: of those only what is used comes along.
    mainFields: ['module', 'main'],
    plugins: [lateModules],
    minifyWhitespace: true,
    // A file with one letter beyond ASCII takes twice the memory; names of authors go into files of their own.
    legalComments: 'external',
    // Lines short enough that a stack trace still says where.
    lineLimit: 160,
  });
  const alone = ['client', 'supervisor', 'embedded-agent', 'code/child'].map((name) => bundleAlone(name, folder));
  await Promise.all([parts, ...alone]);
  for (const file of ['node.js', 'npm-parents.js', 'run-child.js'])
    copyFileSync(join(root, 'scripts', file), join(folder, file));
}

/** Programs that others start by `entryPoint('...')`. */
function childPrograms() {
  const names = new Set();
  for (const file of globSync('src/**/*.ts', { cwd: root, exclude: (name) => String(name).endsWith('.test.ts') }))
    for (const [, name] of readFileSync(join(root, file), 'utf8').matchAll(/\bentryPoint\(\s*'([^']+)'/g))
      names.add(name);
  return [...names].filter((name) => existsSync(source(name)));
}

function source(name) {
  return join(root, 'src', `${name}.ts`);
}
