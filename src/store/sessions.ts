import type { Actor, CallerDeclaration, Level, SessionStatus } from '../schema/index.ts';
import { KeptRows } from './kept-rows.ts';
import type { Database, SqlValue } from './sqlite.ts';

/** What a session's API key may do; each sandbox gets a new key, never wider than the asker's token. */
export interface KeyGrant {
  scope: Level;
  bundles?: string[];
  projects: string[];
  asker: Actor;
}

/** A session as it is stored. JSON columns are parsed. */
export interface SessionRow {
  id: string;
  project_id: string;
  workspace_id: string;
  parent_id: string | null;
  root_id: string;
  depth: number;
  status: SessionStatus;
  agent: string;
  model: string | null;
  owner: string;
  /** The turn that runs or ran last; `last_turn` is the last one given to a message. */
  turn: number;
  last_turn: number;
  permissions: 'auto' | 'deny' | 'ask';
  caller: CallerDeclaration | null;
  /** Name of the folder that holds its sockets and its spool; stays for a later resume. */
  place: string | null;
  /** Its sandbox while it has one. */
  box: { id: string; driver: string } | null;
  /** The key it was promised, and who promised it. */
  key_grant: KeyGrant | null;
  spool_offset: number;
  /** The agent driver's own state; changes only together with the events it caused. */
  agent_state: unknown;
  error: { code: string; message: string } | null;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number;
  reserved_usd: number;
  /** The server process that runs it. */
  node: string | null;
  /** What another process wants of the one that runs it. */
  wanted: 'end' | 'cancel' | null;
  created_at: string;
  updated_at: string;
}

export interface MessageRow {
  id: string;
  session_id: string;
  turn: number;
  text: string;
  attachments: { blob_id: string; name: string }[];
  state: 'queued' | 'running' | 'done' | 'dropped';
}

const jsonColumns = ['caller', 'box', 'key_grant', 'agent_state', 'error'] as const;

const steps = [
  `CREATE TABLE sessions (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, workspace_id TEXT NOT NULL, parent_id TEXT, root_id TEXT NOT NULL,
     depth INTEGER NOT NULL, status TEXT NOT NULL, agent TEXT NOT NULL, model TEXT, owner TEXT NOT NULL, turn INTEGER NOT NULL,
     last_turn INTEGER NOT NULL, permissions TEXT NOT NULL, caller TEXT, place TEXT, box TEXT, key_grant TEXT, spool_offset INTEGER NOT NULL DEFAULT 0,
     agent_state TEXT, error TEXT, input_tokens INTEGER NOT NULL DEFAULT 0, output_tokens INTEGER NOT NULL DEFAULT 0,
     cost_usd REAL NOT NULL DEFAULT 0, reserved_usd REAL NOT NULL DEFAULT 0, node TEXT, wanted TEXT,
     created_at TEXT NOT NULL, updated_at TEXT NOT NULL, active_at INTEGER NOT NULL) STRICT;
   CREATE INDEX sessions_project ON sessions (project_id, status);
   CREATE INDEX sessions_workspace ON sessions (workspace_id, status);
   CREATE INDEX sessions_root ON sessions (root_id);
   CREATE INDEX sessions_parent ON sessions (parent_id);
   CREATE INDEX sessions_place ON sessions (place) WHERE place IS NOT NULL;
   CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, turn INTEGER NOT NULL, text TEXT NOT NULL,
     attachments TEXT NOT NULL, state TEXT NOT NULL) STRICT;
   CREATE INDEX messages_session ON messages (session_id, state, turn);
   CREATE TABLE idempotency (principal TEXT NOT NULL, key TEXT NOT NULL, answer TEXT NOT NULL, session_id TEXT NOT NULL,
     PRIMARY KEY (principal, key)) STRICT, WITHOUT ROWID;`,
  'ALTER TABLE sessions DROP COLUMN active_at;',
];

const live = "status IN ('starting', 'running', 'idle')";

export interface SessionFilter {
  project_id?: string;
  workspace_id?: string;
  parent_id?: string;
  root_id?: string;
  node?: string;
  status?: string;
  isLive?: boolean;
}

/** Rows of sessions, their messages and idempotency keys. Methods whose name ends in `Now`, and all that change, only inside a Writer. */
export interface SessionTables {
  get(id: string): Promise<SessionRow | undefined>;
  /** The same row for all who only look. */
  peek(id: string): Promise<Readonly<SessionRow> | undefined>;
  list(filter: SessionFilter): Promise<SessionRow[]>;
  /** Newest first, older than `before`. */
  page(filter: SessionFilter, before: string | undefined, limit: number): Promise<SessionRow[]>;
  /** The session a message can go on with: a live one first, then the newest; never a failed one. */
  latest(of: {
    workspace_id: string;
    owner: string;
    parent_id: string | null;
    agent?: string;
  }): Promise<SessionRow | undefined>;
  hasPlace(place: string): Promise<boolean>;
  /** The server process that runs the session of a place. */
  nodeOfPlace(place: string): Promise<string | undefined>;
  getNow(id: string): SessionRow | undefined;
  listNow(filter: SessionFilter): SessionRow[];
  liveRootsNow(projectId: string): number;
  treeNow(rootId: string): { agents: number; depth: number; cost_usd: number; reserved_usd: number };
  tree(rootId: string): Promise<{ agents: number; depth: number; cost_usd: number; reserved_usd: number }>;
  insert(row: SessionRow): void;
  update(id: string, patch: Partial<SessionRow>): void;
  /** Adds to counters without reading them first. */
  meter(
    id: string,
    add: { input_tokens?: number; output_tokens?: number; cost_usd?: number; reserved_usd?: number },
  ): void;
  remove(id: string): void;
  insertMessage(row: MessageRow): void;
  setMessage(id: string, state: MessageRow['state']): void;
  /** In the order of their turns. */
  messagesNow(sessionId: string, state: MessageRow['state']): MessageRow[];
  answerOfKeyNow(principal: string, key: string): string | undefined;
  keepAnswer(principal: string, key: string, sessionId: string, answer: string): void;
}

/** Live sessions are looked up all the time, and are few among the many that are stored. */
const liveSteps = [`CREATE INDEX sessions_live ON sessions (id) WHERE ${live}`];

export async function openSessions(db: Database): Promise<SessionTables> {
  await db.migrate('sessions', steps);
  await db.migrate('sessions_live', liveSteps);
  const parsed = (raw: Record<string, unknown> | undefined): SessionRow | undefined => {
    if (!raw) return undefined;
    const row = { ...raw };
    for (const column of jsonColumns) row[column] = raw[column] === null ? null : JSON.parse(raw[column] as string);
    // Its columns are the fields of a row.
    return row as unknown as SessionRow;
  };
  const sqlValue = (key: string, value: unknown): SqlValue =>
    (jsonColumns as readonly string[]).includes(key) && value !== null ? JSON.stringify(value) : (value as SqlValue);
  const getNow = (id: string): SessionRow | undefined => parsed(db.get('SELECT * FROM sessions WHERE id = ?', id));
  const kept = new KeptRows(db, getNow);
  const select = (
    { isLive, ...equal }: SessionFilter,
    more: string[],
    rest: string,
    ...values: SqlValue[]
  ): SessionRow[] => {
    const pairs = Object.entries(equal).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const where = [
      ...pairs.map(([key]) => `${key} = ?`),
      ...(isLive === undefined ? [] : [isLive ? live : `NOT ${live}`]),
      ...more,
    ];
    const sql = `SELECT * FROM sessions ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''} ${rest}`;
    return db
      .all<Record<string, unknown>>(sql, ...pairs.map(([, value]) => value), ...values)
      .map((raw) => parsed(raw)!);
  };
  const listNow = (filter: SessionFilter): SessionRow[] => select(filter, [], 'ORDER BY id');
  const treeNow: SessionTables['treeNow'] = (rootId) =>
    db.get<{ agents: number; depth: number; cost_usd: number; reserved_usd: number }>(
      `SELECT COUNT(*) AS agents, coalesce(MAX(depth), 0) AS depth, coalesce(SUM(cost_usd), 0) AS cost_usd,
         coalesce(SUM(reserved_usd), 0) AS reserved_usd FROM sessions WHERE root_id = ?`,
      rootId,
    )!;
  return {
    getNow,
    listNow,
    treeNow,
    async get(id) {
      return getNow(id);
    },
    async peek(id) {
      return kept.get(id);
    },
    async list(filter) {
      return listNow(filter);
    },
    async page(filter, before, limit) {
      return before === undefined
        ? select(filter, [], 'ORDER BY id DESC LIMIT ?', limit)
        : select(filter, ['id < ?'], 'ORDER BY id DESC LIMIT ?', before, limit);
    },
    async latest({ workspace_id, owner, parent_id, agent }) {
      return parsed(
        db.get(
          `SELECT * FROM sessions WHERE workspace_id = ? AND owner = ? AND parent_id IS ? AND status != 'failed' AND agent = coalesce(?, agent)
           ORDER BY ${live} DESC, id DESC LIMIT 1`,
          workspace_id,
          owner,
          parent_id,
          agent ?? null,
        ),
      );
    },
    async hasPlace(place) {
      return db.get('SELECT 1 FROM sessions WHERE place = ?', place) !== undefined;
    },
    async nodeOfPlace(place) {
      return (
        db.get<{ node: string | null }>(`SELECT node FROM sessions WHERE place = ? AND ${live}`, place)?.node ??
        undefined
      );
    },
    async tree(rootId) {
      return treeNow(rootId);
    },
    liveRootsNow: (projectId) =>
      db.get<{ n: number }>(
        `SELECT COUNT(*) AS n FROM sessions WHERE project_id = ? AND parent_id IS NULL AND ${live}`,
        projectId,
      )!.n,
    insert(row) {
      const keys = Object.keys(row);
      db.run(
        `INSERT INTO sessions (${keys.join(', ')}) VALUES (${keys.map(() => '?').join(', ')})`,
        ...Object.entries(row).map(([key, value]) => sqlValue(key, value)),
      );
    },
    update(id, patch) {
      kept.forget(id);
      const pairs = Object.entries({ ...patch, updated_at: new Date().toISOString() });
      db.run(
        `UPDATE sessions SET ${pairs.map(([key]) => `${key} = ?`).join(', ')} WHERE id = ?`,
        ...pairs.map(([key, value]) => sqlValue(key, value)),
        id,
      );
    },
    meter(id, { input_tokens = 0, output_tokens = 0, cost_usd = 0, reserved_usd = 0 }) {
      kept.forget(id);
      db.run(
        `UPDATE sessions SET input_tokens = input_tokens + ?, output_tokens = output_tokens + ?, cost_usd = cost_usd + ?,
           reserved_usd = max(0, reserved_usd + ?) WHERE id = ?`,
        input_tokens,
        output_tokens,
        cost_usd,
        reserved_usd,
        id,
      );
    },
    remove(id) {
      kept.forget(id);
      db.run('DELETE FROM messages WHERE session_id = ?', id);
      db.run('DELETE FROM idempotency WHERE session_id = ?', id);
      db.run('DELETE FROM sessions WHERE id = ?', id);
    },
    insertMessage(row) {
      db.run(
        'INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)',
        row.id,
        row.session_id,
        row.turn,
        row.text,
        JSON.stringify(row.attachments),
        row.state,
      );
    },
    setMessage(id, state) {
      db.run('UPDATE messages SET state = ? WHERE id = ?', state, id);
    },
    messagesNow: (sessionId, state) =>
      db
        .all<Omit<MessageRow, 'attachments'> & { attachments: string }>(
          'SELECT * FROM messages WHERE session_id = ? AND state = ? ORDER BY turn',
          sessionId,
          state,
        )
        .map((raw) => ({ ...raw, attachments: JSON.parse(raw.attachments) as MessageRow['attachments'] })),
    answerOfKeyNow: (principal, key) =>
      db.get<{ answer: string }>('SELECT answer FROM idempotency WHERE principal = ? AND key = ?', principal, key)
        ?.answer,
    keepAnswer(principal, key, sessionId, answer) {
      db.run('INSERT INTO idempotency VALUES (?, ?, ?, ?)', principal, key, answer, sessionId);
    },
  };
}
