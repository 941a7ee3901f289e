import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const cache = join(import.meta.dirname, '..', '.cache', 'peers');

/**
 * Installs a package at a pinned version into a folder of its own, outside our dependencies, once; answers the folder
 * of the package. Fails when npm cannot get it.
 */
export function peer(name: string, version: string): string {
  const folder = join(cache, `${name.replaceAll('/', '+')}@${version}`);
  const installed = join(folder, 'node_modules', name);
  if (existsSync(join(installed, 'package.json'))) return installed;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const done = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (done.status !== 0) throw new Error(`npm could not install ${name}@${version}`);
  return installed;
}
