import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { CacheAsk, CachedRow } from './catalog-cache.ts';

const port = parentPort;
if (!port) throw new Error('cache-worker runs as a worker thread only');
// Nobody else needs this thread: it may wait for another process.
const db = new DatabaseSync(workerData as string, { timeout: 30_000 });
db.exec('PRAGMA synchronous = NORMAL');
// Each checkpoint waits for the disk: fewer, larger ones.
db.exec('PRAGMA wal_autocheckpoint = 8000');
const insert = db.prepare('INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)');
const remove = db.prepare('DELETE FROM files WHERE path = ?');

port.on('message', ({ number, rows }: CacheAsk & { number: number }) => {
  try {
    write(rows);
    port.postMessage({ number });
  } catch (error) {
    port.postMessage({ number, error: { code: 'CACHE', message: (error as Error).message } });
  }
});

function write(rows: readonly [string, CachedRow | undefined][]): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const [path, row] of rows)
      if (row) insert.run(path, row.mtimeMs, row.size, row.summary, row.text);
      else remove.run(path);
    db.exec('COMMIT');
  } finally {
    if (db.isTransaction) db.exec('ROLLBACK');
  }
}
