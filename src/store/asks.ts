import type { Database } from './sqlite.ts';

/** A stored question; `state` is open until exactly one outcome closes it. */
export interface AskRow {
  id: string;
  session_id: string;
  kind: 'caller_tool' | 'permission';
  owner: string;
  turn: number;
  tool: string;
  /** JSON: arguments of a caller tool, options of a permission request. */
  payload: string;
  /** Milliseconds since the epoch. */
  deadline: number;
  on_disconnect: 'fail' | 'wait';
  /** What the asking side calls this request, so that sending it again finds it. */
  ask_key: string | null;
  event_index: number;
  state: string;
  /** JSON of the answer. */
  answer: string | null;
  timeout_ms: number;
}

const steps = [
  `CREATE TABLE asks (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, kind TEXT NOT NULL, owner TEXT NOT NULL,
     turn INTEGER NOT NULL, tool TEXT NOT NULL, payload TEXT NOT NULL, deadline INTEGER NOT NULL, on_disconnect TEXT NOT NULL,
     ask_key TEXT, event_index INTEGER NOT NULL, state TEXT NOT NULL, answer TEXT, timeout_ms INTEGER NOT NULL) STRICT;
   CREATE UNIQUE INDEX asks_key ON asks (session_id, ask_key) WHERE ask_key IS NOT NULL;
   CREATE INDEX asks_session ON asks (session_id, state);
   CREATE INDEX asks_open ON asks (deadline) WHERE state = 'open';
   CREATE TABLE callers_seen (session_id TEXT PRIMARY KEY) STRICT;`,
  `CREATE TABLE asks_kept (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, kind TEXT NOT NULL, owner TEXT NOT NULL,
     turn INTEGER NOT NULL, tool TEXT NOT NULL, payload TEXT NOT NULL, deadline INTEGER NOT NULL, on_disconnect TEXT NOT NULL,
     ask_key TEXT, event_index INTEGER NOT NULL, state TEXT NOT NULL, answer TEXT, timeout_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;
   INSERT INTO asks_kept SELECT id, session_id, kind, owner, turn, tool, payload, deadline, on_disconnect, ask_key,
     event_index, state, answer, timeout_ms FROM asks;
   DROP TABLE asks;
   ALTER TABLE asks_kept RENAME TO asks;`,
  // Every page that a commit touches is waited for by an agent: one tree, in which the few open ones lie together.
  `CREATE TABLE asks_kept (session_id TEXT NOT NULL, is_closed INTEGER NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, owner TEXT NOT NULL,
     turn INTEGER NOT NULL, tool TEXT NOT NULL, payload TEXT NOT NULL, deadline INTEGER NOT NULL, on_disconnect TEXT NOT NULL,
     ask_key TEXT, event_index INTEGER NOT NULL, state TEXT NOT NULL, answer TEXT, timeout_ms INTEGER NOT NULL,
     PRIMARY KEY (session_id, is_closed, id)) STRICT, WITHOUT ROWID;
   INSERT INTO asks_kept SELECT session_id, state != 'open', id, kind, owner, turn, tool, payload, deadline, on_disconnect, ask_key,
     event_index, state, answer, timeout_ms FROM asks;
   DROP TABLE asks;
   ALTER TABLE asks_kept RENAME TO asks;`,
  // Who of them was there counts: a session may be watched by others than its owner.
  `CREATE TABLE callers_known (session_id TEXT NOT NULL, principal TEXT NOT NULL, PRIMARY KEY (session_id, principal)) STRICT, WITHOUT ROWID;
   INSERT OR IGNORE INTO callers_known SELECT asks.session_id, asks.owner FROM asks JOIN callers_seen USING (session_id);
   DROP TABLE callers_seen;
   ALTER TABLE callers_known RENAME TO callers_seen;`,
];

/** Rows of asks, and who had a stream of a session since the last declaration. */
export interface AskTables {
  get(sessionId: string, id: string): Promise<AskRow | undefined>;
  open(sessionId: string): Promise<AskRow[]>;
  /** Permission requests that have a key, in the order they were made. */
  permissions(sessionId: string): Promise<{ id: string; key: string }[]>;
  seenIn(sessionId: string): Promise<string[]>;
  /** The rest only inside a Writer. */
  openNow(sessionId: string): AskRow[];
  insert(row: AskRow): void;
  getNow(sessionId: string, id: string): AskRow | undefined;
  /** True when it was open and is closed now; false when someone was faster. */
  close(sessionId: string, id: string, state: string, answer: string | null): boolean;
  markSeen(sessionId: string, principal: string, isSeen: boolean): void;
  remove(sessionId: string): void;
}

export async function openAsks(db: Database): Promise<AskTables> {
  await db.migrate('asks', steps);
  const getNow = (sessionId: string, id: string): AskRow | undefined =>
    db.get<AskRow>('SELECT * FROM asks WHERE session_id = ? AND is_closed IN (0, 1) AND id = ?', sessionId, id);
  const openNow = (sessionId: string): AskRow[] =>
    db.all<AskRow>('SELECT * FROM asks WHERE session_id = ? AND is_closed = 0 ORDER BY event_index', sessionId);
  return {
    getNow,
    async get(sessionId, id) {
      return getNow(sessionId, id);
    },
    async open(sessionId) {
      return openNow(sessionId);
    },
    async permissions(sessionId) {
      return db.all<{ id: string; key: string }>(
        "SELECT id, ask_key AS key FROM asks WHERE session_id = ? AND kind = 'permission' AND ask_key IS NOT NULL ORDER BY event_index",
        sessionId,
      );
    },
    async seenIn(sessionId) {
      return db
        .all<{ principal: string }>('SELECT principal FROM callers_seen WHERE session_id = ?', sessionId)
        .map(({ principal }) => principal);
    },
    openNow,
    insert(row) {
      db.run(
        'INSERT INTO asks VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        row.session_id,
        row.id,
        row.kind,
        row.owner,
        row.turn,
        row.tool,
        row.payload,
        row.deadline,
        row.on_disconnect,
        row.ask_key,
        row.event_index,
        row.state,
        row.answer,
        row.timeout_ms,
      );
    },
    close(sessionId, id, state, answer) {
      return (
        db.run(
          'UPDATE asks SET is_closed = 1, state = ?, answer = ? WHERE session_id = ? AND is_closed = 0 AND id = ?',
          state,
          answer,
          sessionId,
          id,
        ) === 1
      );
    },
    markSeen(sessionId, principal, isSeen) {
      if (isSeen) db.run('INSERT OR IGNORE INTO callers_seen VALUES (?, ?)', sessionId, principal);
      else db.run('DELETE FROM callers_seen WHERE session_id = ? AND principal = ?', sessionId, principal);
    },
    remove(sessionId) {
      db.run('DELETE FROM asks WHERE session_id = ?', sessionId);
      db.run('DELETE FROM callers_seen WHERE session_id = ?', sessionId);
    },
  };
}
