import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { pack, type Pack } from 'tar-stream';
import { fail } from '../schema/index.ts';
import {
  entriesBelow,
  entryType,
  inFolder,
  openFolderAt,
  removeBelow,
  splitPath,
  walkTo,
  type EntryType,
} from '../store/index.ts';
import { giveToOwnerOf } from './project-folders.ts';

export interface FileEntry {
  name: string;
  type: EntryType;
  size: number;
  modified_at: string;
}

export type Found =
  { type: 'file'; size: number; modifiedAt: Date; handle: FileHandle } | { type: 'folder'; entries: FileEntry[] };

/** Finds a file (opened; the caller closes it) or lists a folder. Links that lead out are refused. */
export async function readPlace(root: string, path: string): Promise<Found> {
  const place = await walkTo(root, splitPath(path));
  try {
    const info = await lstat(place.path).catch(missing(path));
    if (place.name === undefined || info.isDirectory())
      return { type: 'folder', entries: await listFolder(place.path) };
    // A pipe would block the reader for good.
    const handle = await open(place.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
      missing(path),
    );
    const opened = await handle.stat();
    if (opened.isFile()) return { type: 'file', size: opened.size, modifiedAt: opened.mtime, handle };
    await handle.close();
    throw fail('file.refused', { path });
  } finally {
    await place.parent.close();
  }
}

/** Writes a whole file or nothing, making folders on the way; body.too_large beyond the cap. */
export async function writePlace(
  root: string,
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ size: number; sha256: string; isNew: boolean }> {
  const parts = splitPath(path);
  if (parts.length === 0) throw fail('request.invalid', { reason: 'a file needs a name' });
  const place = await walkTo(root, parts, {
    makeParents: async (folder) => {
      const isOurs = await mkdir(folder, 0o755).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          // Someone else made it a moment ago.
          if (error.code === 'EEXIST') return false;
          throw error;
        },
      );
      if (isOurs) await giveToOwnerOf(root, folder);
    },
  });
  const temp = inFolder(place.parent, `.${randomBytes(9).toString('hex')}.tmp`);
  try {
    const before = await lstat(place.path).catch(() => undefined);
    if (before?.isDirectory()) throw fail('request.invalid', { reason: `${path} is a folder` });
    const written = await writeCapped(temp, bytes, maxBytes, root);
    await rename(temp, place.path);
    return { ...written, isNew: before === undefined };
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw error;
  } finally {
    await place.parent.close();
  }
}

/** Removes a file, a link or a whole folder; never follows a link while doing so. */
export async function removePlace(root: string, path: string): Promise<void> {
  const parts = splitPath(path);
  if (parts.length === 0) throw fail('request.invalid', { reason: 'the workspace itself cannot be removed here' });
  const folder = await openFolderIn(root, parts.slice(0, -1), path);
  try {
    await removeBelow(folder, parts[parts.length - 1]!).catch(missing(path));
  } finally {
    await folder.close();
  }
}

/** A whole folder as a tar stream; links are left out. */
export async function archive(root: string, path: string, maxBytes: number): Promise<Pack> {
  const folder = await openFolderIn(root, splitPath(path), path);
  const tar = pack();
  const budget = { left: maxBytes };
  addFolder(tar, folder, budget)
    .then(
      () => tar.finalize(),
      (error: unknown) => tar.destroy(error as Error),
    )
    .finally(() => folder.close())
    .catch(() => {});
  return tar;
}

/** The caller closes it; whatever was opened on the way there is closed, also when there is no such folder. */
async function openFolderIn(root: string, parts: readonly string[], shown: string): Promise<FileHandle> {
  const place = await walkTo(root, parts);
  if (place.name === undefined) return place.parent;
  try {
    return await openFolderAt(place.path).catch(missing(shown));
  } finally {
    await place.parent.close();
  }
}

async function addFolder(tar: Pack, folder: FileHandle, budget: { left: number }): Promise<void> {
  for await (const { path, name, info } of entriesBelow(folder)) {
    const entry = { name, mtime: info.mtime, mode: info.mode & 0o777 };
    if (info.isFile()) await addFile(tar, path, entry, budget);
    else
      await new Promise<void>((resolve, reject) =>
        tar.entry({ ...entry, type: 'directory' }, (error) => (error ? reject(error) : resolve())),
      );
  }
}

async function addFile(
  tar: Pack,
  path: string,
  entry: { name: string; mtime: Date; mode: number },
  budget: { left: number },
): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { size } = await handle.stat();
    budget.left -= size;
    if (budget.left < 0)
      throw fail('response.too_large', { message: 'The folder is too large for one archive. Fetch its parts.' });
    // Whoever reads the archive may leave at any moment: the sink then fails, and nobody else listens to it.
    await pipeline(exactly(handle, size), tar.entry({ ...entry, size }));
  } finally {
    await handle.close();
  }
}

/** A file that shrinks or grows meanwhile is padded or cut to the size in its header. */
async function* exactly(handle: FileHandle, size: number): AsyncGenerator<Buffer> {
  let left = size;
  for await (const chunk of handle.createReadStream({
    autoClose: false,
    highWaterMark: 256 * 1024,
  }) as AsyncIterable<Buffer>) {
    if (left === 0) return;
    const part = chunk.subarray(0, left);
    left -= part.length;
    yield part;
  }
  for (; left > 0; left -= Math.min(left, 65536)) yield Buffer.alloc(Math.min(left, 65536));
}

async function writeCapped(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  root: string,
): Promise<{ size: number; sha256: string }> {
  const handle = await open(path, 'wx', 0o644);
  const hash = createHash('sha256');
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > maxBytes) throw fail('body.too_large', { limit: maxBytes });
      hash.update(chunk);
      await handle.writeFile(chunk);
    }
    await giveToOwnerOf(root, handle);
  } finally {
    await handle.close();
  }
  return { size, sha256: hash.digest('hex') };
}

async function listFolder(path: string): Promise<FileEntry[]> {
  const handle = await openFolderAt(path.replace(/^(\/proc\/self\/fd\/\d+)$/, '$1/.'));
  try {
    const entries: FileEntry[] = [];
    for (const name of (await readdir(`/proc/self/fd/${handle.fd}`)).sort()) {
      const info = await lstat(inFolder(handle, name)).catch(() => undefined);
      if (!info) continue;
      const type = entryType(info);
      entries.push({ name, type, size: type === 'file' ? info.size : 0, modified_at: info.mtime.toISOString() });
    }
    return entries;
  } finally {
    await handle.close();
  }
}

function missing(path: string): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
      throw fail('file.not_found', { ref: path }, { cause: error });
    if (error.code === 'ELOOP') throw fail('file.refused', { path }, { cause: error });
    throw error;
  };
}
