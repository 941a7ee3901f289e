import { randomBytes } from 'node:crypto';
import { chmod, lstat, readdir, rename, rm, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { openFolderAt } from './inside-folder.ts';

/** Only one handle per level is open, and every path stays short enough for the kernel. */
const maxDepth = 100;
/** A handle that only names a place, for folders that cannot even be read. */
const pathOnly = 0x20_0000;

/**
 * Removes a folder with all that is in it; one that is not there is no error. Whatever a program made there must not
 * keep it: neither a tree so deep that no path can name its end, nor folders that shut even their owner out.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    return await rm(path, { recursive: true, force: true });
  } catch {
    // The slow way; if that fails too, it fails for the same reason.
  }
  const parent = await openFolderAt(dirname(path));
  try {
    await removeBelow(parent, basename(path));
  } catch (error) {
    if (!isGone(error)) throw error;
  } finally {
    await parent.close();
  }
}

/** Removes an entry of an open folder with everything below; never follows a link, even one swapped in meanwhile. */
export async function removeBelow(folder: FileHandle, name: string): Promise<void> {
  const waiting: Buffer[] = [Buffer.from(name)];

  const remove = async (parent: FileHandle, entry: Buffer, depth: number): Promise<void> => {
    const path = entryOf(parent, entry);
    const info = await lstat(path);
    if (!info.isDirectory()) return unlink(path);
    if (depth === maxDepth) {
      const up = Buffer.from(`.${randomBytes(9).toString('hex')}.tmp`);
      await rename(path, entryOf(folder, up));
      return void waiting.push(up);
    }
    if ((info.mode & 0o700) !== 0o700) await openUp(path);
    const inner = await openFolderAt(path);
    try {
      for (const each of await readdir(`/proc/self/fd/${inner.fd}`, { encoding: 'buffer' }))
        await remove(inner, each, depth + 1).catch((error: unknown) => {
          if (!isGone(error)) throw error;
        });
    } finally {
      await inner.close();
    }
    await rmdir(path);
  };

  for (let next = waiting.pop(); next; next = waiting.pop()) await remove(folder, next, 0);
}

// As bytes: not every name is a text.
const entryOf = (folder: FileHandle, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), name]);

async function openUp(path: Buffer): Promise<void> {
  const handle = await openFolderAt(path, pathOnly);
  try {
    await chmod(`/proc/self/fd/${handle.fd}`, 0o700);
  } finally {
    await handle.close();
  }
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';
