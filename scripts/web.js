import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './install.js';

const ui = join(root, 'ui');
const built = join(ui, 'dist', 'index.html');

/** Builds the web app when its sources are newer than what was built last. */
export function buildWebIfStale(node) {
  if (!existsSync(join(ui, 'index.html'))) return;
  const sources = Math.max(
    newest(ui),
    newest(join(root, 'src', 'schema')),
    statSync(join(root, 'package-lock.json')).mtimeMs,
  );
  if (existsSync(built) && statSync(built).mtimeMs >= sources) return;
  buildWeb(node);
}

export function buildWeb(node) {
  if (!existsSync(join(ui, 'index.html'))) return;
  console.error('Building the web app ...');
  const done = spawnSync(node, [join(root, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', '--logLevel', 'warn'], {
    cwd: ui,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (done.status !== 0) {
    console.error('The web app could not be built; see the lines above.');
    process.exit(1);
  }
}

function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'dist' || entry.name === 'node_modules') continue;
    const path = join(folder, entry.name);
    latest = Math.max(latest, entry.isDirectory() ? newest(path) : statSync(path).mtimeMs);
  }
  return latest;
}
