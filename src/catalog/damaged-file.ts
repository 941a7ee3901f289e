import { rm } from 'node:fs/promises';

/** SQLite's own codes: other tables than ours, broken pages, no database at all. */
const damaged = new Set([1, 11, 26]);

/**
 * True when what is in a file of SQLite can be of no use to anyone: it may be made anew. One that another process holds,
 * or that the disk refuses, must be left alone.
 */
export function isDamaged(error: unknown): boolean {
  const { code, errcode = 0 } = error as { code?: string; errcode?: number };
  // Without any code it is our own finding: what is in the file is not what we write.
  return code === undefined || damaged.has(errcode & 0xff);
}

/** Opens a file of SQLite that nobody depends on: a damaged one begins anew. */
export async function beginningAnew<T>(path: string, open: (path: string) => Promise<T>): Promise<T> {
  try {
    return await open(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true });
    return open(path);
  }
}
