import type { Level } from '../schema/index.ts';
import { KeptRows } from './kept-rows.ts';
import type { Database, Writer } from './sqlite.ts';

/** A token as it is stored: never its secret, only a hash of it. */
export interface TokenRow {
  id: string;
  name: string;
  scope: Level;
  projects?: string[];
  bundles?: string[];
  createdAt: string;
  expiresAt?: string;
  revokedAt?: string;
  lastUsedAt?: string;
  /** Set for keys granted to a session. */
  sessionId?: string;
  projectId?: string;
  /** The token that this one was derived from, which owns what a granted key does. */
  principal: string;
}

export interface TokenStore {
  add(row: TokenRow, hash: Uint8Array): Promise<void>;
  /** The row of a hash (in hex) as it is on disk now, whichever process changed it last. */
  find(hash: string): Readonly<TokenRow> | undefined;
  get(id: string): Promise<TokenRow | undefined>;
  list(after: string, limit: number): Promise<TokenRow[]>;
  /** False when there is no such token. Revoking twice keeps the first time. */
  revoke(id: string, at: string): Promise<boolean>;
  revokeOfSession(sessionId: string, at: string): Promise<void>;
  setHash(id: string, hash: Uint8Array): Promise<boolean>;
  touch(id: string, at: string): Promise<void>;
}

const steps = [
  `CREATE TABLE tokens (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, scope TEXT NOT NULL, projects TEXT, bundles TEXT,
    hash BLOB NOT NULL UNIQUE, created_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT, last_used_at TEXT,
    session_id TEXT, project_id TEXT, principal TEXT NOT NULL) STRICT;
  CREATE INDEX tokens_by_session ON tokens (session_id) WHERE session_id IS NOT NULL`,
];

/** How long a token that is revoked or has expired is still listed. */
const listedForMs = 90 * 24 * 3600_000;
const tidyEveryMs = 3600_000;

/** Tokens in state.db. */
export async function sqliteTokens(db: Database): Promise<TokenStore> {
  await db.migrate('tokens', steps);
  let tidiedAt = -Infinity;
  /** Every session that is granted a key, and many a job, makes a token of its own. */
  const tidy = (tx: Database): void => {
    if (performance.now() - tidiedAt < tidyEveryMs) return;
    tidiedAt = performance.now();
    const before = new Date(Date.now() - listedForMs).toISOString();
    tx.run('DELETE FROM tokens WHERE revoked_at < ? OR expires_at < ?', before, before);
  };
  const kept = new KeptRows<TokenRow>(db, (hash) => {
    const raw = db.get<Raw>('SELECT * FROM tokens WHERE hash = ?', Buffer.from(hash, 'hex'));
    return raw && fromRaw(raw);
  });
  const change = <T>(write: Writer<T>): Promise<T> => db.write(write).finally(() => kept.forgetAll());
  return {
    add: (row, hash) =>
      change((tx) => {
        tidy(tx);
        tx.run(
          `INSERT INTO tokens (id, name, scope, projects, bundles, hash, created_at, expires_at, session_id, project_id, principal)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
          row.id,
          row.name,
          row.scope,
          row.projects ? JSON.stringify(row.projects) : null,
          row.bundles ? JSON.stringify(row.bundles) : null,
          hash,
          row.createdAt,
          row.expiresAt ?? null,
          row.sessionId ?? null,
          row.projectId ?? null,
          row.principal,
        );
      }),
    find: (hash) => kept.get(hash),
    get: async (id) => {
      const raw = db.get<Raw>('SELECT * FROM tokens WHERE id = ?', id);
      return raw && fromRaw(raw);
    },
    list: async (after, limit) =>
      db.all<Raw>('SELECT * FROM tokens WHERE id > ? ORDER BY id LIMIT ?', after, limit).map(fromRaw),
    revoke: (id, at) =>
      change((tx) => tx.run('UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?', at, id) > 0),
    revokeOfSession: (sessionId, at) =>
      change((tx) => {
        tx.run('UPDATE tokens SET revoked_at = ? WHERE session_id = ? AND revoked_at IS NULL', at, sessionId);
      }),
    setHash: (id, hash) =>
      change((tx) => tx.run('UPDATE tokens SET hash = ? WHERE id = ? AND revoked_at IS NULL', hash, id) > 0),
    touch: (id, at) =>
      change((tx) => {
        tx.run('UPDATE tokens SET last_used_at = ? WHERE id = ?', at, id);
      }),
  };
}

interface Raw {
  id: string;
  name: string;
  scope: Level;
  projects: string | null;
  bundles: string | null;
  hash: Uint8Array;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  session_id: string | null;
  project_id: string | null;
  principal: string;
}

function fromRaw(raw: Raw): TokenRow {
  return {
    id: raw.id,
    name: raw.name,
    scope: raw.scope,
    createdAt: raw.created_at,
    principal: raw.principal,
    ...(raw.projects && { projects: JSON.parse(raw.projects) as string[] }),
    ...(raw.bundles && { bundles: JSON.parse(raw.bundles) as string[] }),
    ...(raw.expires_at && { expiresAt: raw.expires_at }),
    ...(raw.revoked_at && { revokedAt: raw.revoked_at }),
    ...(raw.last_used_at && { lastUsedAt: raw.last_used_at }),
    ...(raw.session_id && { sessionId: raw.session_id }),
    ...(raw.project_id && { projectId: raw.project_id }),
  };
}
