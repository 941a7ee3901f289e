import { openEventFiles } from './event-files.ts';
import type { Database } from './sqlite.ts';

/**
 * Events in a row, as they are stored and as they are sent: server-sent event frames (`id`, `event`, `data`, an empty
 * line), made once. JSON holds no line break, so the frames can be told apart again.
 */
export interface EventRun {
  first: number;
  last: number;
  frames: Buffer;
}

/** One event of a run; `json` is the whole event. */
export interface StoredEvent {
  index: number;
  json: string;
}

/** The first and last index of a log that can be read; `newest` is `oldest - 1` when it is empty. */
export interface Bounds {
  oldest: number;
  newest: number;
}

const steps = [
  `CREATE TABLE events (session_id TEXT NOT NULL, idx INTEGER NOT NULL, type TEXT NOT NULL, tail TEXT NOT NULL,
     PRIMARY KEY (session_id, idx)) STRICT, WITHOUT ROWID;`,
  // Keyed by the last index: whatever follows a cursor is one seek away, wherever in a run the cursor stands.
  `CREATE TABLE event_runs (session_id TEXT NOT NULL, last INTEGER NOT NULL, first INTEGER NOT NULL, frames BLOB NOT NULL,
     PRIMARY KEY (session_id, last)) STRICT, WITHOUT ROWID;
   INSERT INTO event_runs SELECT session_id, idx, idx, CAST('id: ' || idx || char(10) || 'event: ' || type || char(10)
     || 'data: {"index":' || idx || ',' || tail || char(10, 10) AS BLOB) FROM events;
   DROP TABLE events;
   ALTER TABLE event_runs RENAME TO events;`,
];

const moveBytes = 256 * 1024;

/** Append-only logs: in the table, and what finished sessions left, in files of their projects. */
export interface EventTables {
  /** Only inside a Writer; the run begins where the log ends. */
  append(sessionId: string, run: EventRun): void;
  /** What follows an index, in order, until there are at least so many bytes. */
  read(sessionId: string, after: number, bytes: number): Promise<EventRun[]>;
  bounds(sessionId: string): Promise<Bounds | undefined>;
  /** Only inside a Writer. */
  newestNow(sessionId: string): number;
  /** Only inside a Writer: the log is gone, and so is its counter. Call what it answers once that is committed. */
  remove(sessionId: string): () => Promise<void>;
  /** Sessions that have events in the table. */
  inTable(): string[];
  /** Moves what the table has of a log to a file of its project; what is appended meanwhile stays in the table. */
  moveToFile(sessionId: string, projectId: string): Promise<void>;
  /** Removes files that a crash left behind. */
  sweep(): Promise<void>;
}

/** `folder` is that of all projects. */
export async function openEvents(db: Database, folder: string): Promise<EventTables> {
  await db.migrate('events', steps);
  const files = await openEventFiles(db, folder);
  return {
    append(sessionId, { first, last, frames }) {
      db.run('INSERT INTO events VALUES (?, ?, ?, ?)', sessionId, last, first, frames);
    },
    async read(sessionId, after, bytes) {
      // The table is read first: events that a move takes out of it meanwhile are then found in the file.
      const runs = fromTable(sessionId, after, bytes);
      if (runs[0]?.first === after + 1) return runs;
      const run = await files.read(sessionId, after);
      return run ? [runAfter(run, after)] : runs;
    },
    async bounds(sessionId) {
      const oldest = files.oldest(sessionId) ?? fromTable(sessionId, -1, 0)[0]?.first;
      return oldest === undefined ? undefined : { oldest, newest: newestNow(sessionId) };
    },
    newestNow,
    remove(sessionId) {
      db.run('DELETE FROM events WHERE session_id = ?', sessionId);
      const left = files.remove(sessionId);
      return async () => {
        for (const file of left) await files.discard(file);
      };
    },
    // One seek per session, however long its log is.
    inTable: () =>
      db
        .all<{ id: string }>(
          `WITH RECURSIVE found (id) AS (SELECT min(session_id) FROM events UNION ALL
             SELECT (SELECT min(session_id) FROM events WHERE session_id > found.id) FROM found WHERE found.id IS NOT NULL)
           SELECT id FROM found WHERE id IS NOT NULL`,
        )
        .map(({ id }) => id),
    async moveToFile(sessionId, projectId) {
      const written = await files.write(sessionId, projectId, all(sessionId));
      if (!written) return;
      const isMoved = await db.write(() => {
        const [start] = fromTable(sessionId, -1, 0);
        // Another process moved them first, or they were removed with their session.
        if (start?.first !== written.first || newestNow(sessionId) < written.last) return false;
        db.run('DELETE FROM events WHERE session_id = ? AND last <= ?', sessionId, written.last);
        files.adopt(sessionId, written);
        return true;
      });
      if (!isMoved) await files.discard(written.file);
    },
    sweep: () => files.sweep(),
  };

  function newestNow(sessionId: string): number {
    const { newest } = db.get<{ newest: number | null }>(
      'SELECT max(last) AS newest FROM events WHERE session_id = ?',
      sessionId,
    )!;
    return newest ?? files.newest(sessionId) ?? -1;
  }

  function fromTable(sessionId: string, after: number, bytes: number): EventRun[] {
    const runs: EventRun[] = [];
    const rows = db.each<{ first: number; last: number; frames: Uint8Array }>(
      'SELECT first, last, frames FROM events WHERE session_id = ? AND last > ? ORDER BY last',
      sessionId,
      after,
    );
    let left = bytes;
    for (const { first, last, frames } of rows) {
      const run = runAfter(
        { first, last, frames: Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength) },
        after,
      );
      runs.push(run);
      if ((left -= run.frames.length) <= 0) break;
    }
    return runs;
  }

  async function* all(sessionId: string): AsyncGenerator<EventRun, void, void> {
    for (let after = -1; ;) {
      const runs = fromTable(sessionId, after, moveBytes);
      if (runs.length === 0) return;
      yield* runs;
      after = runs.at(-1)!.last;
    }
  }
}

/** The frame of one event, whose JSON is given from its second member on. */
export function frameOf(index: number, type: string, tail: string): string {
  return `id: ${index}\nevent: ${type}\ndata: {"index":${index},${tail}\n\n`;
}

/** The part of a run that follows an index; a run has at least one event, and so has the answer. */
export function runAfter(run: EventRun, after: number): EventRun {
  if (after < run.first) return run;
  let from = 0;
  for (let index = run.first; index <= after; index++) from = run.frames.indexOf('\n\n', from) + 2;
  return { first: after + 1, last: run.last, frames: run.frames.subarray(from) };
}

export function* eventsOf({ first, frames }: EventRun): Generator<StoredEvent, void, void> {
  const text = frames.toString();
  for (let index = first, from = 0; from < text.length; index++) {
    const end = text.indexOf('\n\n', from);
    yield { index, json: text.slice(text.indexOf('\ndata: ', from) + 7, end) };
    from = end + 2;
  }
}
