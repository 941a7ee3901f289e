import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from './files.ts';
import type { EventRun } from './events.ts';
import type { Database } from './sqlite.ts';

/** Events in a row that lie in a file: `file` is relative to the folder of all projects. */
interface Chunk {
  first: number;
  last: number;
  file: string;
  offset: number;
  bytes: number;
}

const steps = [
  `CREATE TABLE event_chunks (session_id TEXT NOT NULL, last INTEGER NOT NULL, first INTEGER NOT NULL, file TEXT NOT NULL,
     offset INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (session_id, last)) STRICT, WITHOUT ROWID;
   CREATE INDEX event_chunks_file ON event_chunks (file);`,
];
const chunkBytes = 256 * 1024;
const logFolder = 'logs';
const isStrayAfterMs = 10 * 60_000;

/**
 * The older part of logs, in files of their projects. A file is written once, synced, and only then named by rows that
 * are committed together with the removal of the same events from the table: they are always in exactly one place.
 */
export interface EventFiles {
  read(sessionId: string, after: number): Promise<EventRun | undefined>;
  oldest(sessionId: string): number | undefined;
  newest(sessionId: string): number | undefined;
  /** Writes events to a new file of a project; undefined when there is no such project or nothing to write. */
  write(sessionId: string, projectId: string, runs: AsyncIterable<EventRun>): Promise<Written | undefined>;
  /** Only inside a Writer. */
  adopt(sessionId: string, written: Written): void;
  discard(file: string): Promise<void>;
  /** Only inside a Writer; answers the files that can go once it is committed. */
  remove(sessionId: string): string[];
  /** Removes files that a crash left without a row that names them. */
  sweep(): Promise<void>;
}

interface Written {
  file: string;
  first: number;
  last: number;
  chunks: Chunk[];
}

export async function openEventFiles(db: Database, folder: string): Promise<EventFiles> {
  await db.migrate('event_files', steps);

  const discard = (file: string): Promise<void> => unlink(join(folder, file)).catch(() => {});

  return {
    async read(sessionId, after) {
      for (;;) {
        const chunk = db.get<Chunk>(
          'SELECT first, last, file, offset, bytes FROM event_chunks WHERE session_id = ? AND last > ? ORDER BY last LIMIT 1',
          sessionId,
          after,
        );
        if (!chunk) return undefined;
        const frames = await bytesOf(join(folder, chunk.file), chunk);
        if (frames) return { first: chunk.first, last: chunk.last, frames };
        // Somebody deleted the file, so its events are no longer part of the log.
        await db.write(() => db.run('DELETE FROM event_chunks WHERE file = ?', chunk.file));
      }
    },
    oldest: (sessionId) =>
      db.get<{ first: number }>('SELECT first FROM event_chunks WHERE session_id = ? ORDER BY last LIMIT 1', sessionId)
        ?.first,
    newest: (sessionId) =>
      db.get<{ last: number | null }>('SELECT max(last) AS last FROM event_chunks WHERE session_id = ?', sessionId)!
        .last ?? undefined,
    async write(sessionId, projectId, runs) {
      const file = join(projectId, logFolder, `${sessionId}.${randomBytes(8).toString('hex')}.events`);
      const handle = await create(folder, file);
      if (!handle) return undefined;
      let isKept = false;
      try {
        const chunks = await writeChunks(handle, file, runs);
        if (chunks.length === 0) return undefined;
        await handle.sync();
        await syncFolder(dirname(join(folder, file)));
        isKept = true;
        return { file, first: chunks[0]!.first, last: chunks.at(-1)!.last, chunks };
      } finally {
        await handle.close();
        if (!isKept) await discard(file);
      }
    },
    adopt(sessionId, { chunks }) {
      for (const { first, last, file, offset, bytes } of chunks)
        db.run('INSERT INTO event_chunks VALUES (?, ?, ?, ?, ?, ?)', sessionId, last, first, file, offset, bytes);
    },
    discard,
    remove(sessionId) {
      const files = db.all<{ file: string }>('SELECT DISTINCT file FROM event_chunks WHERE session_id = ?', sessionId);
      db.run('DELETE FROM event_chunks WHERE session_id = ?', sessionId);
      return files.map(({ file }) => file);
    },
    async sweep() {
      for (const project of await readdir(folder).catch(() => []))
        for (const name of await readdir(join(folder, project, logFolder)).catch(() => [])) {
          const file = join(project, logFolder, name);
          const found = await stat(join(folder, file)).catch(() => undefined);
          // Another server may just be writing a young one.
          if (!found || Date.now() - found.mtimeMs < isStrayAfterMs) continue;
          if (!db.get('SELECT 1 FROM event_chunks WHERE file = ?', file)) await discard(file);
        }
    },
  };
}

/** Undefined when the project's folder is gone: a log must not bring it back. */
async function create(folder: string, file: string): Promise<FileHandle | undefined> {
  try {
    const logs = dirname(join(folder, file));
    await mkdir(logs, { mode: 0o700 }).then(
      () => syncFolder(dirname(logs)),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
    return await open(join(folder, file), 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeChunks(handle: FileHandle, file: string, runs: AsyncIterable<EventRun>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  let offset = 0;
  for await (const { first, last, frames } of runs) {
    await handle.writeFile(frames);
    const open = chunks.at(-1);
    if (open && open.bytes < chunkBytes) Object.assign(open, { last, bytes: open.bytes + frames.length });
    else chunks.push({ first, last, file, offset, bytes: frames.length });
    offset += frames.length;
  }
  return chunks;
}

async function bytesOf(path: string, { offset, bytes }: Chunk): Promise<Buffer | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const frames = Buffer.allocUnsafe(bytes);
    for (let at = 0; at < bytes;) {
      const { bytesRead } = await handle.read(frames, at, bytes - at, offset + at);
      if (bytesRead === 0) return undefined;
      at += bytesRead;
    }
    return frames;
  } finally {
    await handle.close();
  }
}
