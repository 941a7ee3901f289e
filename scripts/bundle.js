import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, mkdtemp, rename } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, stop } from 'esbuild';
import { root } from './install.js';

export const dist = join(root, 'dist');

export const shared = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  logLevel: 'warning',
  absWorkingDir: root,
};

// Some bundled packages are CommonJS and call require for Node's own modules.
const requireBanner =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

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
  await mkdir(folder, { recursive: true });
  const flat = bundleName(name);
  const outfile = join(folder, `${flat}.js`);
  const temp = join(folder, `.${flat}-${randomBytes(6).toString('hex')}.js`);
  await build({
    ...shared,
    entryPoints: [join(root, 'src', `${name}.ts`)],
    outfile: temp,
    minifySyntax: true,
    banner: { js: requireBanner },
  });
  await rename(temp, outfile);
  await stop();
  return outfile;
}
