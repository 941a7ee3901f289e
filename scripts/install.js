// Plain JavaScript that Node 20 understands: this runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { aptInstall } from './apt.js';
import { findNode, missingLibrary, neededMajor, withoutLibrary } from './node.js';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Installs the packages if they are missing or not those of the lock file; answers the path of the Node to use. */
export function install() {
  const isFresh = !isInstalled();
  if (isFresh) {
    console.error('Installing packages (npm ci) ...');
    // A registry may lack a binary of another platform that the lock file names; npm install does not mind.
    if (!npm('ci') && !npm('install', '--no-save')) {
      console.error('The packages could not be installed. Check the network and the npm registry, then try again.');
      process.exit(1);
    }
  }
  const node = findNode(import.meta.url);
  if (!node) {
    console.error(
      `No Node ${neededMajor} for ${process.platform}-${process.arch}. Install Node ${neededMajor} yourself and run this with it.`,
    );
    process.exit(1);
  }
  if (isFresh) makeRunnable(node);
  return node;
}

// A small machine may lack a library that this Node needs and an older one does not.
function makeRunnable(node) {
  if (missingLibrary(node) === undefined) return;
  aptInstall(['libatomic1']);
  const library = missingLibrary(node);
  if (library === undefined) return;
  console.error(withoutLibrary(library));
  process.exit(1);
}

function npm(...args) {
  // No package needs its scripts, and they would run on a Node that this machine may not be able to start yet.
  const done = spawnSync('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
    env: { ...process.env, PATH: pathWithoutOurs(), NODE_ENV: 'development' },
  });
  return done.status === 0;
}

// npm writes node_modules/.package-lock.json as its last step, so it doubles as the mark of a finished install.
function isInstalled() {
  const wanted = packagesOf(join(root, 'package-lock.json'));
  const found = packagesOf(join(root, 'node_modules', '.package-lock.json'));
  if (!wanted || !found) return false;
  // A linked folder belongs to another checkout, which keeps it up to date.
  if (lstatSync(join(root, 'node_modules')).isSymbolicLink()) return true;
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '' || entry.link) continue;
    const there = found[path];
    if (there ? there.version !== entry.version : !entry.optional && !entry.devOptional && !entry.peer) return false;
  }
  return true;
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

// npm puts node_modules/.bin first on PATH; npm itself must not run on a Node that it is about to delete.
function pathWithoutOurs() {
  const ours = join(root, 'node_modules', '.bin');
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== ours)
    .join(delimiter);
}
