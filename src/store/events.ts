import type { Database } from './sqlite.ts';

/** An event as it lies in the table: `json` is the whole event, ready to send. */
export interface StoredEvent {
  index: number;
  type: string;
  json: string;
}

/** The first and last index of a log that can be read; `newest` is `oldest - 1` when it is empty. */
export interface Bounds {
  oldest: number;
  newest: number;
}

// `tail` is the event's JSON from its second member on: the index in front of it is the key.
const steps = [
  `CREATE TABLE events (session_id TEXT NOT NULL, idx INTEGER NOT NULL, type TEXT NOT NULL, tail TEXT NOT NULL,
     PRIMARY KEY (session_id, idx)) STRICT, WITHOUT ROWID;`,
];
const lastOf = '(SELECT max(idx) FROM events WHERE session_id = ?)';
const firstOf = '(SELECT min(idx) FROM events WHERE session_id = ?)';

/** Append-only event tables: the index is assigned in the transaction that stores the event. */
export interface EventTables {
  /** Only inside a Writer. `tail` is the event's JSON without its opening brace and without an index. */
  append(sessionId: string, type: string, tail: string): StoredEvent;
  read(sessionId: string, after: number, max: number): Promise<StoredEvent[]>;
  bounds(sessionId: string): Promise<Bounds | undefined>;
  /** Only inside a Writer. */
  newestNow(sessionId: string): number;
  /** Only inside a Writer: the log is gone, and so is its counter. */
  remove(sessionId: string): void;
  /** A number that changes whenever another process commits. */
  foreignVersion(): number;
}

export async function openEvents(db: Database): Promise<EventTables> {
  await db.migrate('events', steps);
  return {
    append(sessionId, type, tail) {
      const row = db.get<{ idx: number }>(
        `INSERT INTO events VALUES (?, coalesce(${lastOf}, -1) + 1, ?, ?) RETURNING idx`,
        sessionId, sessionId, type, tail,
      );
      return stored(row!.idx, type, tail);
    },
    async read(sessionId, after, max) {
      return db
        .all<{ idx: number; type: string; tail: string }>(
          'SELECT idx, type, tail FROM events WHERE session_id = ? AND idx > ? ORDER BY idx LIMIT ?',
          sessionId, after, max,
        )
        .map((row) => stored(row.idx, row.type, row.tail));
    },
    async bounds(sessionId) {
      const row = db.get<{ oldest: number | null; newest: number }>(`SELECT ${firstOf} AS oldest, ${lastOf} AS newest`, sessionId, sessionId)!;
      return row.oldest === null ? undefined : { oldest: row.oldest, newest: row.newest };
    },
    newestNow: (sessionId) => db.get<{ newest: number | null }>(`SELECT ${lastOf} AS newest`, sessionId)!.newest ?? -1,
    remove(sessionId) {
      db.run('DELETE FROM events WHERE session_id = ?', sessionId);
    },
    foreignVersion() {
      return db.get<{ data_version: number }>('PRAGMA data_version')!.data_version;
    },
  };
}

function stored(index: number, type: string, tail: string): StoredEvent {
  return { index, type, json: `{"index":${index},${tail}` };
}
