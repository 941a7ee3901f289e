import { createHash, type Hash } from 'node:crypto';
import { access, open, readFile, realpath, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundledProgram } from '../../entry.ts';
import { fail, insidePaths } from '../../schema/index.ts';
import { sandboxUser } from '../sandbox-user.ts';
import { initScript, insideFiles } from './inside-files.ts';
import { neededLibraries, runQuietly } from './libraries.ts';

/** One entry of the root file system; `path` is absolute inside. */
export type BaseEntry = { path: string; mode: number } & (
  | { kind: 'folder' }
  | { kind: 'text'; text: string }
  | { kind: 'copy'; source: string; size: number }
  | { kind: 'link'; target: string }
);

export interface BasePlan {
  /** Changes with everything that is in it. */
  id: string;
  entries: BaseEntry[];
  /** What is missing on this machine and what that means. */
  notes: string[];
}

const folders = [
  '/bin',
  '/dev',
  '/etc',
  '/home',
  '/mcp',
  '/opt',
  '/proc',
  '/root',
  '/run',
  '/sbin',
  '/spool',
  '/sys',
  '/usr',
  '/usr/bin',
  '/var',
  '/workspace',
];
const shellTools =
  'sh bash ls cat cp mv rm mkdir rmdir grep sed awk head tail env sleep sort uniq find xargs chmod touch pwd id date wc tr cut tee stat ln true false test timeout tar gzip diff'.split(
    ' ',
  );
const optionalPrograms = ['bash', 'setpriv'];
const certificates = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

/** Finds out what the base consists of here; fails with sandbox.unavailable when not even a shell is there. */
export async function planBase(
  machine: { find(name: string): Promise<string | undefined> } = { find: findProgram },
): Promise<BasePlan> {
  const entries = new Map<string, BaseEntry>();
  const notes: string[] = [];
  const add = (entry: BaseEntry): void => void (entries.has(entry.path) || entries.set(entry.path, entry));
  const copy = async (path: string, source: string, mode: number): Promise<void> =>
    add({ kind: 'copy', path, source, mode, size: (await stat(source)).size });
  const program = async (path: string, source: string): Promise<void> => {
    await copy(path, await realpath(source), 0o755);
    for (const library of await neededLibraries(source)) await copy(library, await realpath(library), 0o755);
  };

  for (const path of folders) add({ kind: 'folder', path, mode: 0o755 });
  add({ kind: 'folder', path: '/tmp', mode: 0o1777 });
  await program(insidePaths.node, process.execPath);
  await addShell(machine.find, program, add, notes);
  for (const [path, text] of Object.entries(insideFiles(sandboxUser()))) add({ kind: 'text', path, text, mode: 0o644 });
  for (const source of certificates)
    if (await exists(source)) await copy('/etc/ssl/certs/ca-certificates.crt', source, 0o644);

  add({ kind: 'text', path: insidePaths.init, text: initScript, mode: 0o755 });
  await copy(insidePaths.supervisor, await bundledProgram('supervisor'), 0o644);
  for (const [path, name] of [
    [insidePaths.client, 'client'],
    [insidePaths.embeddedAgent, 'embedded-agent'],
    [insidePaths.codeChild, 'code/child'],
  ] as const) {
    try {
      await copy(path, await bundledProgram(name), 0o644);
    } catch (error) {
      notes.push(`${name} could not be bundled into the sandbox: ${(error as Error).message}`);
    }
  }
  await addInterpreter(program, copy, notes);
  add({ kind: 'text', path: '/opt/oubliette/package.json', text: '{"type":"module"}\n', mode: 0o644 });

  const all = withParents([...entries.values()]).sort((a, b) => (a.path < b.path ? -1 : 1));
  return { id: await fingerprint(all), entries: all, notes };
}

async function addShell(
  find: (name: string) => Promise<string | undefined>,
  program: (path: string, source: string) => Promise<void>,
  add: (entry: BaseEntry) => void,
  notes: string[],
): Promise<void> {
  const busybox = await find('busybox');
  if (busybox) {
    await program('/bin/busybox', busybox);
    const applets = (await runQuietly(busybox, ['--list'])).split('\n').filter((name) => name && name !== 'busybox');
    for (const name of optionalPrograms) {
      const found = await find(name);
      if (found) await program(`/usr/bin/${name}`, found);
    }
    add({ kind: 'link', path: '/bin/bash', target: '/usr/bin/bash', mode: 0o777 });
    for (const name of applets) add({ kind: 'link', path: `/bin/${name}`, target: 'busybox', mode: 0o777 });
    add({ kind: 'link', path: '/usr/bin/env', target: '/bin/busybox', mode: 0o777 });
    return;
  }
  notes.push(
    'busybox is not installed: sandboxes have only the commands found on this machine. Install the package busybox-static for the usual set.',
  );
  for (const name of [...shellTools, ...optionalPrograms]) {
    const found = await find(name);
    if (found) await program(name === 'env' || name === 'setpriv' ? `/usr/bin/${name}` : `/bin/${name}`, found);
  }
  if (!(await find('sh')))
    throw fail('sandbox.unavailable', {
      reason: 'this machine has no shell to put into a sandbox. Install the package busybox-static',
    });
}

/** The code-mode interpreter for the embedded agent: an add-on of its own package, found as Node finds packages. */
async function addInterpreter(
  program: (path: string, source: string) => Promise<void>,
  copy: (path: string, source: string, mode: number) => Promise<void>,
  notes: string[],
): Promise<void> {
  const name = `@pydantic/monty-${process.platform}-${process.arch}-gnu`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    const { main } = JSON.parse(await readFile(manifest, 'utf8')) as { main: string };
    const inside = `/opt/oubliette/node_modules/${name}`;
    await copy(`${inside}/package.json`, manifest, 0o644);
    await program(join(inside, main), join(dirname(manifest), main));
  } catch {
    notes.push(`${name} is not installed: the embedded agent cannot run programs on this machine.`);
  }
}

async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of ['/bin', '/usr/bin', '/sbin', '/usr/sbin', '/usr/local/bin'])
    if (await exists(join(folder, name))) return join(folder, name);
  return undefined;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

function withParents(entries: BaseEntry[]): BaseEntry[] {
  const known = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries)
    for (let parent = dirname(path); parent !== '/'; parent = dirname(parent))
      if (!known.has(parent)) known.set(parent, { kind: 'folder', path: parent, mode: 0o755 });
  return [...known.values()];
}

/** Large files count by name, size and time: reading a hundred megabytes at every start would be felt. */
async function fingerprint(entries: BaseEntry[]): Promise<string> {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(64 * 1024);
  for (const entry of entries) {
    hash.update(JSON.stringify({ ...entry, source: undefined }));
    if (entry.kind !== 'copy') continue;
    if (entry.size < 4 * 1024 * 1024) await addFile(hash, entry.source, piece);
    else hash.update(String((await stat(entry.source)).mtimeMs));
  }
  return hash.digest('hex').slice(0, 16);
}

/** Through one small buffer: this runs at every start, and what it read would lie in memory until much later. */
async function addFile(hash: Hash, path: string, piece: Buffer): Promise<void> {
  await using file = await open(path);
  for (;;) {
    const { bytesRead } = await file.read(piece);
    if (bytesRead === 0) return;
    hash.update(piece.subarray(0, bytesRead));
  }
}
