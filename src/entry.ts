import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
/** False in a bundle: that of the published package, or the one that a clone makes of its sources. */
const isSource = import.meta.url.endsWith('.ts');

/** The package's own folder: docs, package.json. */
export const packageRoot = folderWithManifest(here);

/**
 * Path of a program of ours that runs as its own process or worker, named by its place in `src/` without ending:
 * `entryPoint('code/child')`. That is the `.ts` file itself, or its bundle when we are one.
 * The build finds these calls by their text, so the name must be a literal.
 */
export function entryPoint(name: string): string {
  return isSource ? join(here, `${name}.ts`) : join(here, `${name.replaceAll('/', '-')}.js`);
}

/**
 * Path of a program bundled into one file with nothing to install (`client`, `supervisor`, ...), for places where our
 * packages are not. From the sources it is bundled at the first request of each process. Fails when bundling fails.
 */
export function bundledProgram(name: 'client' | 'supervisor' | 'embedded-agent' | 'code/child'): Promise<string> {
  if (!isSource)
    return Promise.resolve(join(here, name.includes('/') ? `inside-${name.replaceAll('/', '-')}.js` : `${name}.js`));
  let path = bundled.get(name);
  if (!path) {
    path = import(new URL('../scripts/bundle.js', import.meta.url).href).then((bundler) => bundler.bundleProgram(name));
    bundled.set(name, path);
  }
  return path;
}
const bundled = new Map<string, Promise<string>>();

/** Where the built web app lies. */
export function webAppFolder(): string {
  const published = join(here, 'web');
  return existsSync(published) ? published : join(packageRoot, 'ui', 'dist');
}

function folderWithManifest(from: string): string {
  let folder = from;
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}
