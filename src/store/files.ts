import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { link, mkdir, open, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** A file that is written and synced under a temporary name, ready to be moved into its place. */
export interface StagedFile {
  /** Takes its place unless something is there already (then false): the file system decides who was first. */
  create(path: string): Promise<boolean>;
  /** Takes its place whatever is there. */
  replace(path: string): Promise<void>;
  discard(): Promise<void>;
}

/** Writes a temp file next to where it will go; `create` or `replace` is durable after a sync of that folder. */
export async function stageFile(folder: string, data: string | Uint8Array, mode = 0o600): Promise<StagedFile> {
  const temp = await writeTemp(folder, data, mode);
  const discard = (): Promise<void> => unlink(temp).catch(() => {});
  return {
    async create(path) {
      try {
        await link(temp, path);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw error;
      } finally {
        await discard();
      }
    },
    async replace(path) {
      await rename(temp, path).catch(async (error: unknown) => {
        await discard();
        throw error;
      });
    },
    discard,
  };
}

/** Writes the whole file or nothing: temp + fsync + rename + fsync of the folder. */
export async function replaceFile(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  await (await stageFile(dirname(path), data, mode)).replace(path);
  await syncFolder(dirname(path));
}

/** As replaceFile, but answers false, changing nothing, when the file exists. */
export async function createFile(path: string, data: string | Uint8Array, mode = 0o600): Promise<boolean> {
  if (!(await (await stageFile(dirname(path), data, mode)).create(path))) return false;
  await syncFolder(dirname(path));
  return true;
}

/** Deletes a file for good; answers false when it was not there. */
export async function removeFile(path: string): Promise<boolean> {
  try {
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  await syncFolder(dirname(path));
  return true;
}

/** Makes a folder and those above it, private to the user; one that is there stays as it is. */
export async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  // Not mkdir's own recursion, which never ends where nothing can be made, such as below /proc.
  if (dirname(path) !== path) await makeFolder(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' || !(await isFolder(path))) throw error;
  });
}

export type EntryType = 'file' | 'folder' | 'link' | 'other';

/** What lies at a path, by the word that every door uses for it. */
export function entryType(info: Pick<Stats, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryType {
  if (info.isFile()) return 'file';
  if (info.isDirectory()) return 'folder';
  return info.isSymbolicLink() ? 'link' : 'other';
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

/** Makes renames and links inside a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeTemp(folder: string, data: string | Uint8Array, mode: number): Promise<string> {
  // Not derived from the target's name, which may be as long as the file system allows.
  const temp = join(folder, `.${randomBytes(9).toString('hex')}.tmp`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(temp, 'wx', mode);
    await handle.writeFile(data);
    await handle.sync();
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw error;
  } finally {
    await handle?.close();
  }
  return temp;
}
