import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, unlink } from 'node:fs/promises';
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
}

/** Immutable bytes by id: attachments, binary answers of tools. */
export interface Blobs {
  /** Streams to disk; body.too_large beyond the cap, leaving nothing behind. */
  put(owner: string, bytes: AsyncIterable<Uint8Array>, options: { maxBytes: number; mime?: string }): Promise<BlobRow>;
  get(id: string): Promise<BlobRow | undefined>;
  /** Where the bytes lie, for whoever copies them. */
  pathOf(id: string): string;
  read(id: string): Readable;
}

const steps = [
  `CREATE TABLE blobs (id TEXT PRIMARY KEY, owner TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL, mime TEXT,
     created_at TEXT NOT NULL) STRICT;`,
];

export async function openBlobs(db: Database, folder: string): Promise<Blobs> {
  await db.migrate('blobs', steps);
  const pathOf = (id: string): string => join(folder, id);
  return {
    pathOf,
    async put(owner, bytes, { maxBytes, mime }) {
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
      const row: BlobRow = { id, owner, size, sha256: hash.digest('hex'), mime: mime ?? null, created_at: new Date().toISOString() };
      await db.write(() => {
        db.run('INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?)', row.id, row.owner, row.size, row.sha256, row.mime, row.created_at);
      });
      return row;
    },
    async get(id) {
      return db.get<BlobRow>('SELECT * FROM blobs WHERE id = ?', id);
    },
    read: (id) => createReadStream(pathOf(id)),
  };
}
