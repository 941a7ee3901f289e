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

const steps = [
  `CREATE TABLE logs (session_id TEXT PRIMARY KEY, oldest INTEGER NOT NULL DEFAULT 0, next INTEGER NOT NULL DEFAULT 0) STRICT;
   CREATE TABLE events (session_id TEXT NOT NULL, idx INTEGER NOT NULL, type TEXT NOT NULL, json TEXT NOT NULL,
     PRIMARY KEY (session_id, idx)) STRICT, WITHOUT ROWID;`,
];

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
      const row = db.get<{ next: number }>(
        'INSERT INTO logs (session_id, next) VALUES (?, 1) ON CONFLICT (session_id) DO UPDATE SET next = next + 1 RETURNING next',
        sessionId,
      );
      const index = row!.next - 1;
      const json = `{"index":${index},${tail}`;
      db.run('INSERT INTO events VALUES (?, ?, ?, ?)', sessionId, index, type, json);
      return { index, type, json };
    },
    async read(sessionId, after, max) {
      return db.all<StoredEvent>(
        'SELECT idx AS "index", type, json FROM events WHERE session_id = ? AND idx > ? ORDER BY idx LIMIT ?',
        sessionId,
        after,
        max,
      );
    },
    async bounds(sessionId) {
      const row = db.get<{ oldest: number; next: number }>('SELECT oldest, next FROM logs WHERE session_id = ?', sessionId);
      return row && { oldest: row.oldest, newest: row.next - 1 };
    },
    newestNow: (sessionId) => (db.get<{ next: number }>('SELECT next FROM logs WHERE session_id = ?', sessionId)?.next ?? 0) - 1,
    remove(sessionId) {
      db.run('DELETE FROM events WHERE session_id = ?', sessionId);
      db.run('DELETE FROM logs WHERE session_id = ?', sessionId);
    },
    foreignVersion() {
      return db.get<{ data_version: number }>('PRAGMA data_version')!.data_version;
    },
  };
}
