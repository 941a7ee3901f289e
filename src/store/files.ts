import { randomBytes } from 'node:crypto';
import { link, mkdir, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Writes the whole file or nothing: temp + fsync + rename + fsync of the folder. */
export async function replaceFile(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  const temp = await writeTemp(path, data, mode);
  try {
    await rename(temp, path);
  } catch (error) {
    await unlink(temp).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
}

/** As replaceFile, but answers false, changing nothing, when the file exists: the file system decides who was first. */
export async function createFile(path: string, data: string | Uint8Array, mode = 0o600): Promise<boolean> {
  const temp = await writeTemp(path, data, mode);
  try {
    await link(temp, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await unlink(temp).catch(() => {});
  }
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

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
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

async function writeTemp(path: string, data: string | Uint8Array, mode: number): Promise<string> {
  // Not derived from the target's name, which may be as long as the file system allows.
  const temp = join(dirname(path), `.${randomBytes(9).toString('hex')}.tmp`);
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
