import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { replaceFile } from './files.ts';
import type { Database } from './sqlite.ts';

/** A stored output, without its lines. */
export interface StoredResult {
  handle: string;
  totalLines: number;
  sizeBytes: number;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Large outputs on disk, found by their owner through an unguessable handle, cut into lines. */
export interface ResultStore {
  put(owner: string, text: string | Buffer, ttlSeconds: number): Promise<StoredResult>;
  /** `undefined` also for what belongs to someone else; 'expired' as long as it is remembered. */
  find(owner: string, handle: string): Promise<StoredResult | 'expired' | undefined>;
  /** Lines from `offset` (1 is the first), at most `limit`; reads only the part of the file they lie in. */
  lines(result: StoredResult, offset: number, limit: number): Promise<string[]>;
  /** All lines one after the other, in pieces. */
  scan(result: StoredResult): AsyncGenerator<string[]>;
  /** Removes files of expired results and files that nobody knows. */
  sweep(now?: number): Promise<number>;
  close(): void;
}

/** Every how many lines the index notes where a line starts. */
const step = 256;
/** How many bytes are scanned before others get their turn. */
const atOnceBytes = 1024 * 1024;
const sweepEveryMs = 60_000;
/** How long it is remembered that a result existed and has expired. */
const rememberMs = 7 * 24 * 3600_000;
const handlePattern = /^[0-9a-f]{32}$/;

const steps = [
  `CREATE TABLE results (
    handle TEXT PRIMARY KEY, owner TEXT NOT NULL, total_lines INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
    expires_at INTEGER NOT NULL, line_index BLOB NOT NULL) STRICT;
  CREATE INDEX results_by_expiry ON results (expires_at)`,
];

interface Row {
  handle: string;
  owner: string;
  total_lines: number;
  size_bytes: number;
  expires_at: number;
}

/** Opens the store: texts lie in `folder`, one file each; who owns them and where lines start is in state.db. */
export async function sqliteResults(db: Database, folder: string): Promise<ResultStore> {
  await db.migrate('results', steps);
  const fileOf = (handle: string): string => join(folder, `${handle}.txt`);

  const store: ResultStore = {
    async put(owner, text, ttlSeconds) {
      const handle = randomBytes(16).toString('hex');
      const data = typeof text === 'string' ? Buffer.from(text) : text;
      const { totalLines, index } = await indexLines(data);
      const expiresAt = Date.now() + ttlSeconds * 1000;
      await replaceFile(fileOf(handle), data);
      await db.write((tx) => {
        tx.run(
          'INSERT INTO results VALUES (?, ?, ?, ?, ?, ?)',
          handle,
          owner,
          totalLines,
          data.length,
          expiresAt,
          index,
        );
      });
      return { handle, totalLines, sizeBytes: data.length, expiresAt };
    },

    async find(owner, handle) {
      if (!handlePattern.test(handle)) return undefined;
      const row = db.get<Row>(
        'SELECT handle, owner, total_lines, size_bytes, expires_at FROM results WHERE handle = ?',
        handle,
      );
      if (!row || row.owner !== owner) return undefined;
      if (row.expires_at <= Date.now()) return 'expired';
      return { handle, totalLines: row.total_lines, sizeBytes: row.size_bytes, expiresAt: row.expires_at };
    },

    async lines(result, offset, limit) {
      if (offset > result.totalLines || limit < 1) return [];
      const row = db.get<{ line_index: Uint8Array }>('SELECT line_index FROM results WHERE handle = ?', result.handle);
      const entry = Math.floor((offset - 1) / step);
      const index = Buffer.from(row?.line_index ?? []);
      const start = index.length > entry * 6 ? index.readUIntLE(entry * 6, 6) : 0;
      const skip = offset - 1 - entry * step;
      const found: string[] = [];
      let at = 0;
      for await (const piece of linesOf(fileOf(result.handle), start)) {
        for (const line of piece) {
          if (at++ < skip) continue;
          found.push(line);
          if (found.length === limit) return found;
        }
      }
      return found;
    },

    scan: (result) => linesOf(fileOf(result.handle), 0),

    async sweep(now = Date.now()) {
      const due = db.all<{ handle: string }>(
        'SELECT handle FROM results WHERE expires_at <= ? AND size_bytes >= 0',
        now,
      );
      for (const { handle } of due) await unlink(fileOf(handle)).catch(() => {});
      await db.write((tx) => {
        for (const { handle } of due)
          tx.run("UPDATE results SET size_bytes = -1, line_index = x'' WHERE handle = ?", handle);
        tx.run('DELETE FROM results WHERE expires_at <= ?', now - rememberMs);
      });
      await removeStrays(db, folder, now);
      return due.length;
    },

    close: () => clearInterval(timer),
  };
  const timer = setInterval(() => void store.sweep().catch(() => {}), sweepEveryMs);
  timer.unref();
  return store;
}

/** Files whose row was never written: the process ended in between. */
async function removeStrays(db: Database, folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [] as string[])) {
    const path = join(folder, name);
    const age = now - ((await stat(path).catch(() => undefined))?.mtimeMs ?? now);
    if (age < 3600_000) continue;
    const known = db.get('SELECT 1 FROM results WHERE handle = ? AND size_bytes >= 0', name.replace(/\.txt$/, ''));
    if (!known) await unlink(path).catch(() => {});
  }
}

/** Where every 256th line starts, six bytes each. A line break at the very end starts no further line. */
async function indexLines(data: Buffer): Promise<{ totalLines: number; index: Buffer }> {
  const starts = [0];
  let lines = data.length === 0 ? 0 : 1;
  for (let from = 0; from < data.length - 1; from += atOnceBytes) {
    if (from > 0) await turn();
    const end = Math.min(from + atOnceBytes, data.length - 1);
    // Byte by byte: a text may be nothing but line breaks, and a search for each of them takes twenty times as long.
    for (let at = from; at < end; at++) if (data[at] === 10 && lines++ % step === 0) starts.push(at + 1);
  }
  const index = Buffer.alloc(starts.length * 6);
  starts.forEach((start, i) => index.writeUIntLE(start, i * 6, 6));
  return { totalLines: lines, index };
}

async function* linesOf(path: string, start: number): AsyncGenerator<string[]> {
  let rest = '';
  const stream = createReadStream(path, { start, encoding: 'utf8', highWaterMark: 64 * 1024 });
  for await (const chunk of stream as AsyncIterable<string>) {
    const parts = chunk.split('\n');
    parts[0] = rest + parts[0]!;
    rest = parts.pop()!;
    if (parts.length > 0) yield parts;
  }
  if (rest !== '') yield [rest];
}
