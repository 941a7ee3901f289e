import { randomBytes } from 'node:crypto';
import { constants, createReadStream, createWriteStream } from 'node:fs';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { constants as zlib, createGunzip, createGzip, gunzipSync } from 'node:zlib';
import { extract, pack, type Header, type Pack } from 'tar-stream';
import { asFailure, fail, isDiskFull } from '../schema/index.ts';
import { isFolder } from './files.ts';
import { isHomeInUse, newerVersionOf, refuseNewerHome } from './home-version.ts';
import { isBrokenDatabase } from './sqlite.ts';

const manifestName = 'oubliette-backup.json';
const format = 1;
const scratchPrefix = 'run-backup-';

/** Files of agents, or the folder of all of them. */
const isTheirs = (path: string): boolean => /^projects\/[^/]+\/workspaces\/[^/]+(\/|$)/.test(path);
/** Leaves room for a home with a longer path. */
const longestPath = 3000;
/** An upload that is under way. */
const isHalf = (path: string): boolean => /\/\.[0-9a-f]{18}\.tmp$/.test(path);

/** What belongs to a running process, or rebuilds itself. */
const isLeftOut = (path: string): boolean =>
  isTheirs(path) ? isHalf(path) || Buffer.byteLength(path) > longestPath : isOurOwn(path);
const isOurOwn = (path: string): boolean =>
  /^(server\.json|run(\/|$)|index\.db|catalog\/\.journal(\/|$))/.test(path) ||
  path.startsWith(scratchPrefix) ||
  path.endsWith('.tmp') ||
  /\.db-(wal|shm|journal|mark)$/.test(path);

/**
 * Writes the whole home into one gzipped tar, readable by the owner only, also while servers run on it: databases are
 * copied in one transaction, files of ours are written whole by whoever writes them, and what agents do to theirs
 * meanwhile is taken as it is met. The file appears when it is complete.
 */
export async function backupHome(root: string, file: string): Promise<{ file: string; bytes: number; files: number }> {
  if (!(await isFolder(root))) throw fail('import.invalid', { message: `There is no data folder ${root}.` });
  refuseNewerHome(root);
  // It would be put in the place of a device or a pipe, which others need.
  const there = await stat(file).catch(() => undefined);
  if (there && !there.isFile() && !there.isDirectory())
    throw fail('import.invalid', { message: `${file} is no plain file. Name a new one, or one to be replaced.` });
  const scratch = await mkdtemp(join(root, scratchPrefix));
  const temp = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const archive = pack();
    const written = pipeline(archive, createGzip(), createWriteStream(temp, { mode: 0o600 }));
    const [files] = await Promise.all([fillArchive(archive, root, scratch), written]);
    await syncFile(temp);
    await rename(temp, file);
    return { file, bytes: (await stat(file)).size, files };
  } finally {
    await rm(temp, { force: true });
    await rm(scratch, { recursive: true, force: true });
  }
}

async function fillArchive(archive: Pack, root: string, scratch: string): Promise<number> {
  try {
    archive.entry({ name: manifestName, mode: 0o600 }, JSON.stringify({ format, at: new Date().toISOString() }));
    let files = 0;
    for await (const path of walk(root, '')) if (await addEntry(archive, root, path, scratch)) files++;
    archive.finalize();
    return files;
  } catch (error) {
    archive.destroy(error as Error);
    throw error;
  }
}

/**
 * Paths below `root`, folders before what is in them. Databases come first: what moves from them into a file while
 * this runs is in the backup twice rather than not at all.
 */
async function* walk(root: string, below: string): AsyncGenerator<string> {
  const place = (name: string): string => `${name.endsWith('.db') ? 0 : 1}${name}`;
  const entries = (await ifThere(readdir(join(root, below), { withFileTypes: true }), isTheirs(below))) ?? [];
  for (const entry of entries.sort((a, b) => (place(a.name) < place(b.name) ? -1 : 1))) {
    const path = posix.join(below, entry.name);
    if (isLeftOut(path)) continue;
    yield path;
    if (entry.isDirectory()) yield* walk(root, path);
  }
}

/** Adds one file, folder or link; answers whether it was a file. Sockets and the like are left out. */
async function addEntry(archive: Pack, root: string, path: string, scratch: string): Promise<boolean> {
  const source = join(root, path);
  const found = await lstat(source).catch(() => undefined);
  if (!found) return false;
  const header = { name: path, mode: found.mode & 0o777, mtime: found.mtime };
  if (found.isDirectory()) archive.entry({ ...header, type: 'directory' });
  else if (found.isSymbolicLink()) {
    const linkname = await ifThere(readlink(source), isTheirs(path));
    if (linkname !== undefined) archive.entry({ ...header, type: 'symlink', linkname });
  } else if (found.isFile()) {
    const isDatabase = path.endsWith('.db') && !path.includes('/');
    return addFile(archive, isDatabase ? snapshotOf(source, join(scratch, path)) : source, header);
  }
  return false;
}

/** False when it is no plain file any more. */
async function addFile(
  archive: Pack,
  source: string,
  header: Pick<Header, 'name' | 'mode' | 'mtime'>,
): Promise<boolean> {
  const opening = open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const handle = await ifThere(opening, isTheirs(header.name));
  if (!handle) return false;
  try {
    const info = await handle.stat();
    if (!info.isFile() || (await isBackup(handle, header.name))) return false;
    if (info.size === 0) archive.entry(header, '');
    else await pipeline(exactly(handle, info.size), archive.entry({ ...header, size: info.size }));
    return true;
  } finally {
    await handle.close();
  }
}

/** Backups inside the home are left out; otherwise each would contain all earlier ones. */
async function isBackup(handle: FileHandle, path: string): Promise<boolean> {
  if (!/\.t?gz$/.test(path) || path.startsWith('projects/')) return false;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0);
  try {
    const start = gunzipSync(buffer.subarray(0, bytesRead), { finishFlush: zlib.Z_SYNC_FLUSH });
    return start.toString('latin1', 0, manifestName.length + 1) === `${manifestName}\0`;
  } catch {
    return false;
  }
}

/** A file may grow or shrink while it is read: what is promised in the header is what is written. */
async function* exactly(handle: FileHandle, size: number): AsyncGenerator<Buffer, void, void> {
  let left = size;
  for await (const chunk of handle.createReadStream({ end: size - 1, autoClose: false })) {
    left -= (chunk as Buffer).length;
    yield chunk as Buffer;
  }
  for (; left > 0; left -= Math.min(left, padding.length)) yield padding.subarray(0, left);
}

const padding = Buffer.alloc(64 * 1024);

/**
 * Undefined for what somebody removed, or put something else in the place of, since it was listed; and for what an
 * agent has made so that nobody can reach it.
 */
async function ifThere<T>(looking: Promise<T>, isAnAgents: boolean): Promise<T | undefined> {
  return looking.catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL'].includes(error.code ?? '')) return undefined;
    if (isAnAgents && ['ENAMETOOLONG', 'EACCES'].includes(error.code ?? '')) return undefined;
    throw error;
  });
}

function snapshotOf(database: string, copy: string): string {
  const db = new DatabaseSync(database, { timeout: 30_000 });
  try {
    db.prepare('VACUUM INTO ?').run(copy);
  } catch (error) {
    if (isDiskFull(error)) throw asFailure(error);
    if (!isBrokenDatabase(error)) throw error;
    const reason = `${database} is damaged (${(error as Error).message}). See: oubliette doctor`;
    throw fail('import.invalid', { message: `No backup was made: ${reason}` }, { cause: error });
  } finally {
    db.close();
  }
  return copy;
}

/**
 * Puts a backup in the place of a home. All is unpacked beside it first, so a broken or hostile file changes nothing;
 * what was there before is kept and named. Refused while any server uses the home. Restored by root, the files of agents
 * belong to `agent`, who has to work on them.
 */
export async function restoreHome(
  file: string,
  root: string,
  agent?: { uid: number; gid: number },
): Promise<{ files: number; previous?: string }> {
  refuseUsedHome(root);
  await mkdir(dirname(root), { recursive: true });
  const fresh = await mkdtemp(`${root}.restore-`);
  try {
    const files = await unpack(file, fresh, process.getuid?.() === 0 ? agent : undefined);
    refuseNewerBackup(fresh);
    await chmod(fresh, 0o700);
    // To unpack may have taken long.
    refuseUsedHome(root);
    const previous = `${root}.before-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
    const had = await isFolder(root);
    if (had) await rename(root, previous);
    await rename(fresh, root);
    return { files, ...(had && { previous }) };
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
}

function refuseUsedHome(root: string): void {
  if (isHomeInUse(root)) throw fail('server.running', { home: root });
}

function refuseNewerBackup(unpacked: string): void {
  const newer = newerVersionOf(unpacked);
  if (newer !== undefined)
    throw fail('import.invalid', {
      reason: `it is of a home that version ${newer} wrote, which this older version cannot use. Restore it with version ${newer} or a later one`,
    });
}

async function unpack(file: string, target: string, agent?: { uid: number; gid: number }): Promise<number> {
  const entries = extract();
  const unzip = createGunzip();
  const source = createReadStream(file);
  const fed = pipeline(source, unzip, entries).catch((error: unknown) => entries.destroy(error as Error));
  let files = 0;
  let isFirst = true;
  const folders: Header[] = [];
  try {
    for await (const entry of entries) {
      const { name, type } = entry.header;
      const bytes = entry as AsyncIterable<Uint8Array>;
      if (isFirst) await checkManifest(name, bytes);
      else {
        await placeEntry(target, entry.header, bytes);
        if (agent && isTheirs(name)) await lchown(join(target, name), agent.uid, agent.gid);
      }
      if (!isFirst && type === 'file') files++;
      if (type === 'directory') folders.push(entry.header);
      isFirst = false;
    }
  } catch (error) {
    if ((error as { code?: string }).code === 'import.invalid') throw error;
    throw fail('import.invalid', { reason: `${file} is no backup, or it is damaged` }, { cause: error });
  }
  await fed;
  if (isFirst) throw fail('import.invalid', { reason: `${file} is empty` });
  // Only once everything is in place, innermost first: some folders must not be writable afterwards.
  for (const { name, mode } of folders.reverse()) await chmod(join(target, name), mode & 0o777);
  return files;
}

async function checkManifest(name: string, entry: AsyncIterable<Uint8Array>): Promise<void> {
  let text = '';
  for await (const chunk of entry) if (text.length < 10_000) text += Buffer.from(chunk).toString();
  const manifest = name === manifestName ? (JSON.parse(text) as { format?: unknown }) : {};
  if (manifest.format !== format)
    throw fail('import.invalid', { reason: 'it is no backup of Oubliette, or of a newer version' });
}

async function placeEntry(target: string, header: Header, entry: AsyncIterable<Uint8Array>): Promise<void> {
  const path = await safePath(target, header);
  const mode = header.mode & 0o777;
  if (header.type === 'directory') await mkdir(path, { recursive: true, mode: mode | 0o700 });
  else if (header.type === 'symlink') await symlink(header.linkname, path);
  else if (header.type === 'file') {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return pipeline(entry, createWriteStream(path, { flags: 'wx', mode }));
  } else throw fail('import.invalid', { reason: `it holds ${header.name}, which is neither file nor folder` });
  // The archive goes on only when an entry was read to its end, even an empty one.
  for await (const _ of entry);
}

/** A place inside `target`, reached through no link: an archive must not write anywhere else. */
async function safePath(target: string, { name, type }: Header): Promise<string> {
  const parts = name.replace(/\/+$/, '').split('/');
  if (name.startsWith('/') || parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0')))
    throw fail('import.invalid', { reason: `it holds the unsafe path ${JSON.stringify(name)}` });
  // What a folder is put over must not be a link either: its mode is set later.
  const folders = type === 'directory' ? parts : parts.slice(0, -1);
  let parent = target;
  for (const part of folders) {
    parent = join(parent, part);
    const found = await lstat(parent).catch(() => undefined);
    if (found && !found.isDirectory())
      throw fail('import.invalid', { reason: `it writes through the link ${JSON.stringify(name)}` });
  }
  return join(target, ...parts);
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
