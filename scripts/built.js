// Plain JavaScript that Node 20 understands.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { root } from './install.js';
import { nodeFlags } from './node.js';

const source = join(root, 'src', 'cli.ts');
const youngMs = 3600_000;

/**
 * The program to run in a clone: a bundle of exactly these sources, in a folder that bears their hash, or the sources
 * themselves when none can be made. With `onlyIfThere` nothing is built.
 */
export function builtProgram(node, { onlyIfThere = false, cache = join(root, '.cache', 'built') } = {}) {
  try {
    const folder = join(cache, hashOfSources());
    const program = join(folder, 'cli.js');
    if (!existsSync(program)) {
      if (onlyIfThere || !build(node, folder)) return source;
      removeUnused(cache, folder);
    }
    markAsUsed(folder);
    return program;
  } catch {
    // A folder that cannot be written, a disk that is full: the sources run as well, only slower.
    return source;
  }
}

function build(node, folder) {
  const script = join(root, 'scripts', 'build.js');
  spawnSync(node, [...nodeFlags, script, '--server', folder], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  return existsSync(join(folder, 'cli.js'));
}

function hashOfSources() {
  const hash = createHash('sha256');
  const add = (path) =>
    hash
      .update(`${relative(root, path)}\n`)
      .update(readFileSync(path))
      .update('\n');
  for (const path of sourcesIn(join(root, 'src'))) add(path);
  for (const path of sourcesIn(join(root, 'scripts'))) add(path);
  add(join(root, 'package-lock.json'));
  return hash.digest('hex').slice(0, 16);
}

function sourcesIn(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return sourcesIn(path);
      return entry.name.endsWith('.test.ts') ? [] : [path];
    });
}

/** A server reads parts of its program when they are first needed: they must stay while it runs. */
function markAsUsed(folder) {
  const mark = join(folder, `used-by-${process.pid}`);
  try {
    writeFileSync(mark, '');
  } catch {
    // A clone that we may only read.
    return;
  }
  process.on('exit', () => rmSync(mark, { force: true }));
}

function removeUnused(cache, newest) {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    if (folder === newest || readdirSync(folder).some(isMarkOfTheLiving)) continue;
    // Another process may be about to use what it has just built.
    if (Date.now() - statSync(folder).mtimeMs < youngMs) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

function isMarkOfTheLiving(name) {
  const pid = /^used-by-(\d+)$/.exec(name)?.[1];
  if (!pid) return false;
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
