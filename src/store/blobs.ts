import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fail, newId } from '../schema/index.ts';
import { syncFolder } from './files.ts';
import type { Database } from './sqlite.ts';

export interface BlobRow {
  id: string;
  owner: string;
  size: number;
  sha256: string;
  mime: string | null;
  created_at: string;
  /** Milliseconds since the epoch; null for what stays. */
  expires_at: number | null;
}

export interface BlobOptions {
  maxBytes: number;
  mime?: string;
  /** It is deleted after this time; without it, it stays. */
  keepForMs?: number;
}

/** Immutable bytes by id: attachments, binary answers of tools. */
export interface Blobs {
  /** Streams to disk; body.too_large beyond the cap, leaving nothing behind. */
  put(owner: string, bytes: AsyncIterable<Uint8Array>, options: BlobOptions): Promise<BlobRow>;
  /** Undefined also for what has expired. */
  get(id: string): Promise<BlobRow | undefined>;
  /** Where the bytes lie, for whoever copies them. */
  pathOf(id: string): string;
  read(id: string): Readable;
  /** Readers that have it open read it to its end. */
  remove(id: string): Promise<void>;
  /** Deletes what has expired, and files that a killed process left behind. */
  sweep(now?: number): Promise<void>;
  close(): void;
}

const sweepEveryMs = 600_000;
/** A younger file without a row may still be on its way. */
const strayMs = 3600_000;

const steps = [
  `CREATE TABLE blobs (id TEXT PRIMARY KEY, owner TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL, mime TEXT,
     created_at TEXT NOT NULL) STRICT;`,
  `ALTER TABLE blobs ADD COLUMN expires_at INTEGER;
   CREATE INDEX blobs_by_expiry ON blobs (expires_at) WHERE expires_at IS NOT NULL;`,
];

export async function openBlobs(db: Database, folder: string): Promise<Blobs> {
  await db.migrate('blobs', steps);
  const pathOf = (id: string): string => join(folder, id);
  const store: Blobs = {
    pathOf,
    async put(owner, bytes, { maxBytes, mime, keepForMs }) {
      const id = newId('blob');
      const temp = join(folder, `.${randomBytes(9).toString('hex')}.tmp`);
      const hash = createHash('sha256');
      let size = 0;
      const file = await open(temp, 'wx', 0o600);
      try {
        for await (const chunk of bytes) {
          size += chunk.length;
          if (size > maxBytes) throw fail('body.too_large', { limit: maxBytes });
          hash.update(chunk);
          await file.writeFile(chunk);
        }
        await file.sync();
        await file.close();
        await rename(temp, pathOf(id));
      } catch (error) {
        await file.close().catch(() => {});
        await unlink(temp).catch(() => {});
        throw error;
      }
      await syncFolder(folder);
      const row: BlobRow = {
        id,
        owner,
        size,
        sha256: hash.digest('hex'),
        mime: mime ?? null,
        created_at: new Date().toISOString(),
        expires_at: keepForMs === undefined ? null : Date.now() + keepForMs,
      };
      await db.write(() => {
        const { sha256, created_at, expires_at } = row;
        db.run(
          'INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?)',
          id,
          owner,
          size,
          sha256,
          row.mime,
          created_at,
          expires_at,
        );
      });
      return row;
    },
    async get(id) {
      return db.get<BlobRow>(
        'SELECT * FROM blobs WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)',
        id,
        Date.now(),
      );
    },
    read: (id) => createReadStream(pathOf(id)),
    // The row goes first: a file without one is found again as a stray.
    async remove(id) {
      if ((await db.write(() => db.run('DELETE FROM blobs WHERE id = ?', id))) > 0)
        await unlink(pathOf(id)).catch(() => {});
    },
    async sweep(now = Date.now()) {
      const due = db.all<{ id: string }>('SELECT id FROM blobs WHERE expires_at <= ?', now);
      // The row goes first: a file without one is found again as a stray.
      await db.write(() => {
        for (const { id } of due) db.run('DELETE FROM blobs WHERE id = ?', id);
      });
      for (const { id } of due) await unlink(pathOf(id)).catch(() => {});
      for (const name of await readdir(folder)) {
        const modifiedAt = (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? now;
        if (now - modifiedAt < strayMs || db.get('SELECT 1 FROM blobs WHERE id = ?', name)) continue;
        await unlink(join(folder, name)).catch(() => {});
      }
    },
    close: () => clearInterval(timer),
  };
  const timer = setInterval(() => void store.sweep().catch(() => {}), sweepEveryMs).unref();
  return store;
}
