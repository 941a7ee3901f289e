import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const isClone = import.meta.url.endsWith('.ts');

/**
 * Path of a program of ours that runs as its own process or worker, named by its place in `src/` without ending:
 * `entryPoint('code/child')`. In the clone that is the `.ts` file, in the published package its bundle.
 * The build finds these calls by their text, so the name must be a literal.
 */
export function entryPoint(name: string): string {
  return isClone ? join(here, `${name}.ts`) : join(here, `${name.replaceAll('/', '-')}.js`);
}

/**
 * Path of a program bundled into one file with nothing to install (`client`, `supervisor`, ...), for places where our
 * packages are not. In the clone it is bundled at the first request of each process. Fails when bundling fails.
 */
export function bundledProgram(name: 'client' | 'supervisor' | 'embedded-agent' | 'code/child'): Promise<string> {
  if (!isClone) return Promise.resolve(join(here, name.includes('/') ? `inside-${name.replaceAll('/', '-')}.js` : `${name}.js`));
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
  return isClone ? join(here, '..', 'ui', 'dist') : join(here, 'web');
}

/** The package's own folder: docs, package.json. */
export const packageRoot = join(here, '..');
