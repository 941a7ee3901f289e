import { rm } from 'node:fs/promises';
import { isBrokenDatabase } from '../store/index.ts';

/** SQLite's own code where the tables are others than ours. */
const otherTables = 1;

/**
 * True when what is in a file of SQLite can be of no use to anyone: it may be made anew. One that another process holds,
 * or that the disk refuses, must be left alone.
 */
export function isDamaged(error: unknown): boolean {
  const { code, errcode = 0 } = error as { code?: string; errcode?: number };
  // An error without a code is our own: the file does not hold what we write.
  return code === undefined || (errcode & 0xff) === otherTables || isBrokenDatabase(error);
}

/** Opens an SQLite file that can be rebuilt: a damaged one is replaced by an empty one. */
export async function beginningAnew<T>(path: string, open: (path: string) => Promise<T>): Promise<T> {
  try {
    return await open(path);
  } catch (error) {
    if (!isDamaged(error)) throw error;
    for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true });
    return open(path);
  }
}
