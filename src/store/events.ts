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

/** Append-only event tables. */
export interface EventTables {
  /** Only inside a Writer; the run begins where the log ends. */
  append(sessionId: string, run: EventRun): void;
  /** What follows an index, in order, until there are at least so many bytes. */
  read(sessionId: string, after: number, bytes: number): Promise<EventRun[]>;
  bounds(sessionId: string): Promise<Bounds | undefined>;
  /** Only inside a Writer. */
  newestNow(sessionId: string): number;
  /** Only inside a Writer: the log is gone, and so is its counter. */
  remove(sessionId: string): void;
}

export async function openEvents(db: Database): Promise<EventTables> {
  await db.migrate('events', steps);
  return {
    append(sessionId, { first, last, frames }) {
      db.run('INSERT INTO events VALUES (?, ?, ?, ?)', sessionId, last, first, frames);
    },
    async read(sessionId, after, bytes) {
      const runs: EventRun[] = [];
      const rows = db.each<{ first: number; last: number; frames: Uint8Array }>(
        'SELECT first, last, frames FROM events WHERE session_id = ? AND last > ? ORDER BY last',
        sessionId, after,
      );
      let left = bytes;
      for (const { first, last, frames } of rows) {
        const run = runAfter({ first, last, frames: Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength) }, after);
        runs.push(run);
        if ((left -= run.frames.length) <= 0) break;
      }
      return runs;
    },
    async bounds(sessionId) {
      const oldest = db.get<{ first: number }>('SELECT first FROM events WHERE session_id = ? ORDER BY last LIMIT 1', sessionId);
      return oldest && { oldest: oldest.first, newest: newestNow(sessionId) };
    },
    newestNow,
    remove(sessionId) {
      db.run('DELETE FROM events WHERE session_id = ?', sessionId);
    },
  };

  function newestNow(sessionId: string): number {
    return db.get<{ newest: number | null }>('SELECT max(last) AS newest FROM events WHERE session_id = ?', sessionId)!.newest ?? -1;
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
