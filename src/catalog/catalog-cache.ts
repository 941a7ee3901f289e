import { rm } from 'node:fs/promises';
import { Database } from '../store/index.ts';

/** A file of the catalog as it was read: good until its time or size changes. */
export interface CachedFile {
  path: string;
  mtimeMs: number;
  size: number;
  text: string;
}

/** The parts of a tool that lists and look-ups need; everything else is read when it is asked for. */
export interface CachedSummary {
  path: string;
  mtimeMs: number;
  size: number;
  summary: string;
}

/**
 * A copy of the catalog's files in one database, so that a start need not open 125,000 of them.
 * The files are the truth; this may be deleted at any time.
 */
export interface CatalogCache {
  /** What is known of the files of one folder. */
  summaries(folder: string): CachedSummary[];
  folders(): string[];
  text(path: string, mtimeMs: number, size: number): string | undefined;
  put(files: (CachedFile & { summary: string })[]): void;
  remove(paths: string[]): void;
  close(): Promise<void>;
}

export async function openCatalogCache(path: string): Promise<CatalogCache> {
  try {
    return await open(path);
  } catch {
    for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true });
    return open(path);
  }
}

async function open(path: string): Promise<CatalogCache> {
  const db = new Database(path);
  await db.migrate('catalog_cache', [
    'CREATE TABLE files (path TEXT PRIMARY KEY, mtime REAL NOT NULL, size INTEGER NOT NULL, summary TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID',
  ]);
  const quietly = (write: Promise<unknown>): void => void write.catch(() => {});
  return {
    // `0` follows `/`: the range holds everything below the folder.
    summaries: (folder) =>
      db.all<CachedSummary>(
        'SELECT path, mtime AS mtimeMs, size, summary FROM files WHERE path > ? AND path < ?',
        `${folder}/`,
        `${folder}0`,
      ),
    folders: () =>
      db
        .all<{ folder: string }>("SELECT DISTINCT substr(path, 1, instr(path, '/') - 1) AS folder FROM files")
        .map(({ folder }) => folder),
    text: (path, mtimeMs, size) =>
      db.get<{ text: string }>('SELECT text FROM files WHERE path = ? AND mtime = ? AND size = ?', path, mtimeMs, size)
        ?.text,
    // What cannot be cached is read from its file: a full disk here must not fail a call.
    put: (files) =>
      quietly(
        db.write((tx) => {
          for (const file of files)
            tx.run(
              'INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)',
              file.path,
              file.mtimeMs,
              file.size,
              file.summary,
              file.text,
            );
        }),
      ),
    remove: (paths) =>
      quietly(
        db.write((tx) => {
          for (const path of paths) tx.run('DELETE FROM files WHERE path = ?', path);
        }),
      ),
    close: () => db.close(),
  };
}
