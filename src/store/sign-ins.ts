import type { Database } from './sqlite.ts';

/** A browser that was signed in: it acts as its token, as long as that token is good. */
export interface SignInRow {
  tokenId: string;
  csrfHash: Uint8Array;
  expiresAt: string;
}

/** Web sign-ins and their one-time codes; secrets are stored as hashes only. */
export interface SignInStore {
  addCode(hash: Uint8Array, tokenId: string, expiresAt: string): Promise<void>;
  /** Takes a code out, so that it works once, also among several processes; undefined when unknown or too old. */
  takeCode(hash: Uint8Array, now: string): Promise<string | undefined>;
  add(hash: Uint8Array, row: SignInRow): Promise<void>;
  find(hash: Uint8Array): Promise<SignInRow | undefined>;
  remove(hash: Uint8Array): Promise<void>;
}

const steps = [
  `CREATE TABLE sign_in_codes (hash BLOB PRIMARY KEY, token_id TEXT NOT NULL, expires_at TEXT NOT NULL) STRICT;
   CREATE TABLE sign_ins (hash BLOB PRIMARY KEY, token_id TEXT NOT NULL, csrf_hash BLOB NOT NULL, expires_at TEXT NOT NULL) STRICT`,
];

export async function sqliteSignIns(db: Database): Promise<SignInStore> {
  await db.migrate('sign-ins', steps);
  return {
    addCode: (hash, tokenId, expiresAt) =>
      db.write((tx) => {
        tx.run('DELETE FROM sign_in_codes WHERE expires_at <= ?', new Date().toISOString());
        tx.run('INSERT INTO sign_in_codes VALUES (?, ?, ?)', hash, tokenId, expiresAt);
      }),
    takeCode: (hash, now) =>
      db.write((tx) => {
        const row = tx.get<{ token_id: string; expires_at: string }>(
          'SELECT * FROM sign_in_codes WHERE hash = ?',
          hash,
        );
        tx.run('DELETE FROM sign_in_codes WHERE hash = ?', hash);
        return row && row.expires_at > now ? row.token_id : undefined;
      }),
    add: (hash, row) =>
      db.write((tx) => {
        tx.run('DELETE FROM sign_ins WHERE expires_at <= ?', new Date().toISOString());
        tx.run('INSERT INTO sign_ins VALUES (?, ?, ?, ?)', hash, row.tokenId, row.csrfHash, row.expiresAt);
      }),
    find: async (hash) => {
      const row = db.get<{ token_id: string; csrf_hash: Uint8Array; expires_at: string }>(
        'SELECT * FROM sign_ins WHERE hash = ?',
        hash,
      );
      return row && { tokenId: row.token_id, csrfHash: row.csrf_hash, expiresAt: row.expires_at };
    },
    remove: (hash) =>
      db.write((tx) => {
        tx.run('DELETE FROM sign_ins WHERE hash = ?', hash);
      }),
  };
}
