import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import { AskedThread, Database } from '../store/index.ts';
import { beginningAnew } from './damaged-file.ts';

const writeAtOnce = 256;
const writeAfterMs = 200;

/** A file of the catalog as it was read: good until its time or size changes. */
export interface CachedFile {
  path: string;
  mtimeMs: number;
  size: number;
  text: string;
}

export type CachedRow = CachedFile & { summary: string };

/** What the thread that writes is asked for: without a row, what was there is removed. */
export interface CacheAsk {
  rows: [string, CachedRow | undefined][];
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
  /** Written a moment later, many in one go; what is lost by a crash is read from its file. */
  put(file: CachedRow): void;
  remove(paths: string[]): void;
  close(): Promise<void>;
}

/** Opens the cache; a damaged one begins anew. Throws when the file cannot be used for another reason: it may be in use. */
export function openCatalogCache(path: string): Promise<CatalogCache> {
  return beginningAnew(path, open);
}

async function open(path: string): Promise<CatalogCache> {
  const db = new Database(path);
  await db.migrate('catalog_cache', [
    'CREATE TABLE files (path TEXT PRIMARY KEY, mtime REAL NOT NULL, size INTEGER NOT NULL, summary TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID',
  ]);
  // Written by a thread: the texts of a large import would hold up everything else.
  const thread = new AskedThread<CacheAsk>(
    'the thread that writes the cache',
    () =>
      new Worker(entryPoint('catalog/cache-worker'), {
        workerData: path,
        resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 8 },
      }),
  );
  /** What is not written yet, and what is being written; without a row it is to be removed. */
  let waiting = new Map<string, CachedRow | undefined>();
  let leaving = new Map<string, CachedRow | undefined>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  const writeAll = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size === 0) return;
    leaving = waiting;
    waiting = new Map();
    // What cannot be cached is read from its file: a full disk here must not fail a call.
    await thread.ask({ rows: [...leaving] }).catch(() => {});
    leaving = new Map();
  };
  const write = (): Promise<void> => (writing = writing.then(writeAll));
  const later = (path: string, file?: CachedRow): void => {
    waiting.set(path, file);
    if (waiting.size === writeAtOnce) void write();
    else timer ??= setTimeout(() => void write(), writeAfterMs).unref();
  };
  return {
    // `0` follows `/`: the range holds everything below the folder.
    summaries: (folder) =>
      db.all<CachedSummary>(
        'SELECT path, mtime AS mtimeMs, size, summary FROM files WHERE path > ? AND path < ?',
        `${folder}/`,
        `${folder}0`,
      ),
    // From each folder to the next one: the rows between hold half a gigabyte of text.
    folders: () => {
      const found: string[] = [];
      const next = (from: string) =>
        db.get<{ path: string }>('SELECT path FROM files WHERE path > ? ORDER BY path LIMIT 1', from);
      for (let row = next(''); row; row = next(`${found.at(-1)}0`))
        found.push(row.path.slice(0, row.path.indexOf('/')));
      return found;
    },
    text: (path, mtimeMs, size) => {
      const file = waiting.get(path) ?? leaving.get(path);
      if (file?.mtimeMs === mtimeMs && file.size === size) return file.text;
      return db.get<{ text: string }>(
        'SELECT text FROM files WHERE path = ? AND mtime = ? AND size = ?',
        path,
        mtimeMs,
        size,
      )?.text;
    },
    put: (file) => later(file.path, file),
    remove: (paths) => {
      for (const path of paths) later(path);
    },
    close: async () => {
      await write();
      await thread.close();
      await db.close();
    },
  };
}
