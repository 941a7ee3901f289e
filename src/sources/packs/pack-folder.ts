import { randomBytes } from 'node:crypto';
import { chown, cp, lstat, mkdir, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { isSlug } from '../../schema/index.ts';

/** A file of the packs folder that is a pack. */
export interface PackFile {
  slug: string;
  name: string;
  path: string;
  /** Changes with the file's content and with everything it may import. */
  signature: string;
  modifiedAt: string;
  /** Why it may not be used. */
  refusedBecause?: string;
}

export interface FolderView {
  /** Set when the whole folder is refused. */
  refusedBecause?: string;
  files: PackFile[];
}

const endings = ['.ts', '.js', '.mts', '.mjs'];

/** Looks at the folder: every `.ts` or `.js` file at its top is a pack; folders below are what packs import. */
export async function scanFolder(folder: string): Promise<FolderView> {
  const own = await stat(folder).catch(() => undefined);
  if (!own?.isDirectory()) return { files: [] };
  const problem = writableByOthers(own);
  if (problem)
    return { refusedBecause: `${folder} ${problem}. Packs run code: make it yours alone with chmod 700.`, files: [] };
  // Where nobody else can enter, the modes of files do not matter.
  const isPrivate = (own.mode & 0o077) === 0;
  const shared: string[] = [];
  const files: PackFile[] = [];
  for (const entry of (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
    if (entry.isDirectory()) shared.push(await folderSignature(path, 0));
    else if (isPackName(entry.name)) files.push(...(await lookAt(path, entry.name, isPrivate)));
    else shared.push(await fileSignature(path));
  }
  const more = shared.join();
  return { files: files.map((file) => ({ ...file, signature: `${file.signature} ${more}` })) };
}

function isPackName(name: string): boolean {
  return endings.includes(parse(name).ext) && !/\.(d|test)\.[mc]?[tj]s$/.test(name);
}

async function lookAt(path: string, name: string, isPrivate: boolean): Promise<PackFile[]> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile()) return [];
  const slug = parse(name).name.replaceAll('_', '-');
  const base = { slug, name, path, signature: signatureOf(found), modifiedAt: found.mtime.toISOString() };
  const problem = isPrivate ? undefined : writableByOthers(found);
  if (problem) return [{ ...base, refusedBecause: `the file ${problem}` }];
  return [isSlug(slug) ? base : { ...base, refusedBecause: 'its name must be letters, digits and dashes' }];
}

function writableByOthers({ mode, uid }: { mode: number; uid: number }): string | undefined {
  const me = process.getuid?.();
  if (me === undefined) return undefined;
  if ((mode & 0o022) !== 0) return 'can be written by others';
  return uid !== me && uid !== 0 ? 'belongs to another user' : undefined;
}

const signatureOf = ({
  mtimeMs,
  size,
  ino,
  ctimeMs,
}: {
  mtimeMs: number;
  size: number;
  ino: number;
  ctimeMs: number;
}): string => `${mtimeMs}-${ctimeMs}-${size}-${ino}`;

async function fileSignature(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined);
  return found ? `${path} ${signatureOf(found)}` : '';
}

async function folderSignature(folder: string, depth: number): Promise<string> {
  if (depth > 8) return '';
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const parts = entries.map((entry) =>
    entry.isDirectory()
      ? folderSignature(join(folder, entry.name), depth + 1)
      : fileSignature(join(folder, entry.name)),
  );
  return (await Promise.all(parts)).join();
}

const snapshotPrefix = 'oubliette-packs-';

/** A copy of the folder as it is now, readable by the packs' user: what runs is what was checked, until its last call ends. */
export async function takeSnapshot(folder: string, owner?: { uid: number; gid: number }): Promise<string> {
  const target = join(tmpdir(), `${snapshotPrefix}${process.pid}-${randomBytes(12).toString('hex')}`);
  await mkdir(target, { mode: 0o700 });
  await cp(folder, target, { recursive: true, filter: (path) => path !== join(folder, 'node_modules') });
  const modules = join(folder, 'node_modules');
  if (await stat(modules).catch(() => undefined)) {
    if (owner) await cp(modules, join(target, 'node_modules'), { recursive: true, dereference: true });
    else await symlink(modules, join(target, 'node_modules'));
  }
  await writeFile(join(target, 'package.json'), '{"type":"module"}', { flag: 'wx' }).catch(() => {});
  if (owner) await giveAway(target, owner);
  return target;
}

/** Removes what servers left behind that did not end by themselves. */
export async function dropStaleSnapshots(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const pid = Number(/^oubliette-packs-(\d+)-[0-9a-f]{24}$/.exec(name)?.[1]);
    const path = join(tmpdir(), name);
    if (pid > 0 && !isAlive(pid) && (await isOurs(path))) await dropSnapshot(path).catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function isOurs(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isDirectory() === true && (process.getuid?.() === 0 || found.uid === process.getuid?.());
}

export async function dropSnapshot(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

async function giveAway(path: string, owner: { uid: number; gid: number }): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const each = join(path, entry.name);
    if (entry.isDirectory()) await giveAway(each, owner);
    else if (!entry.isSymbolicLink()) await chown(each, owner.uid, owner.gid);
  }
  await chown(path, owner.uid, owner.gid);
}
