import { randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, open, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, posix } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, pack, type Header, type Pack } from 'tar-stream';
import { fail } from '../schema/index.ts';
import { isFolder } from './files.ts';

const manifestName = 'oubliette-backup.json';
const format = 1;

/** What belongs to a running process, or rebuilds itself. */
const isLeftOut = (path: string): boolean =>
  /^(server\.json|run(\/|$)|index\.db|catalog\/\.journal(\/|$))/.test(path) ||
  path.endsWith('.tmp') ||
  /\.db-(wal|shm|journal)$/.test(path);

/**
 * Writes the whole home into one gzipped tar, readable by the owner only, also while servers run on it: databases are
 * copied in one transaction, every other file is written whole by whoever writes it. The file appears when it is complete.
 */
export async function backupHome(root: string, file: string): Promise<{ file: string; bytes: number; files: number }> {
  if (!(await isFolder(root))) throw fail('import.invalid', { message: `There is no data folder ${root}.` });
  const scratch = await mkdtemp(join(root, 'run-backup-'));
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
    for await (const path of walk(root, '')) {
      if (path.startsWith(basename(scratch))) continue;
      if (await addEntry(archive, root, path, scratch)) files++;
    }
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
  for (const entry of (await readdir(join(root, below), { withFileTypes: true })).sort((a, b) =>
    place(a.name) < place(b.name) ? -1 : 1,
  )) {
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
  else if (found.isSymbolicLink()) archive.entry({ ...header, type: 'symlink', linkname: await readlink(source) });
  else if (found.isFile()) {
    const isDatabase = path.endsWith('.db') && !path.includes('/');
    await addFile(archive, isDatabase ? snapshotOf(source, join(scratch, path)) : source, header);
    return true;
  }
  return false;
}

async function addFile(archive: Pack, source: string, header: Pick<Header, 'name' | 'mode' | 'mtime'>): Promise<void> {
  const handle = await open(source, 'r');
  try {
    // A log may grow while it is read: what is promised in the header is what is written.
    const { size } = await handle.stat();
    if (size === 0) archive.entry(header, '');
    else
      await pipeline(handle.createReadStream({ end: size - 1, autoClose: false }), archive.entry({ ...header, size }));
  } finally {
    await handle.close();
  }
}

function snapshotOf(database: string, copy: string): string {
  const db = new DatabaseSync(database, { timeout: 30_000 });
  try {
    db.prepare('VACUUM INTO ?').run(copy);
  } finally {
    db.close();
  }
  return copy;
}

/**
 * Puts a backup in the place of a home. All is unpacked beside it first, so a broken or hostile file changes nothing;
 * what was there before is kept and named. The caller makes sure that no server runs.
 */
export async function restoreHome(file: string, root: string): Promise<{ files: number; previous?: string }> {
  await mkdir(dirname(root), { recursive: true });
  const fresh = await mkdtemp(`${root}.restore-`);
  try {
    const files = await unpack(file, fresh);
    await chmod(fresh, 0o700);
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

async function unpack(file: string, target: string): Promise<number> {
  const entries = extract();
  const unzip = createGunzip();
  const source = createReadStream(file);
  const fed = pipeline(source, unzip, entries).catch((error: unknown) => entries.destroy(error as Error));
  let files = 0;
  let isFirst = true;
  try {
    for await (const entry of entries) {
      const { name, type } = entry.header;
      const bytes = entry as AsyncIterable<Uint8Array>;
      if (isFirst) await checkManifest(name, bytes);
      else await placeEntry(target, entry.header, bytes);
      if (!isFirst && type === 'file') files++;
      isFirst = false;
    }
  } catch (error) {
    if ((error as { code?: string }).code === 'import.invalid') throw error;
    throw fail('import.invalid', { reason: `${file} is no backup, or it is damaged` }, { cause: error });
  }
  await fed;
  if (isFirst) throw fail('import.invalid', { reason: `${file} is empty` });
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
  const path = await safePath(target, header.name);
  const mode = header.mode & 0o777;
  if (header.type === 'directory') await mkdir(path, { recursive: true, mode });
  else if (header.type === 'symlink') await symlink(header.linkname, path);
  else if (header.type === 'file') {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return pipeline(entry, createWriteStream(path, { flags: 'wx', mode }));
  } else throw fail('import.invalid', { reason: `it holds ${header.name}, which is neither file nor folder` });
  // The archive goes on only when an entry was read to its end, even an empty one.
  for await (const _ of entry);
}

/** A place inside `target`, reached through no link: an archive must not write anywhere else. */
async function safePath(target: string, name: string): Promise<string> {
  const parts = name.replace(/\/+$/, '').split('/');
  if (name.startsWith('/') || parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0')))
    throw fail('import.invalid', { reason: `it holds the unsafe path ${JSON.stringify(name)}` });
  let parent = target;
  for (const part of parts.slice(0, -1)) {
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
