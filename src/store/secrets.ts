import { fail } from '../schema/index.ts';
import { openKeyRing } from './secret-key.ts';
import type { Database } from './sqlite.ts';

/** What anyone may know about a secret: never its value. */
export interface SecretInfo {
  name: string;
  /** Where it may be sent; absent means every allowed host. */
  hosts?: string[];
  createdAt: string;
  updatedAt: string;
  /** True when its key is gone: it must be set again. */
  isUnreadable?: boolean;
}

export interface Secret {
  name: string;
  value: string;
  hosts?: string[];
}

/** Secrets, encrypted at rest. Values leave only towards the place where they are used, and towards the redactor. */
export interface SecretStore {
  /** Sets or replaces. Without `hosts` it keeps those it has, with none it is free; throws request.invalid for a bad name or value. */
  set(name: string, value: string, hosts?: readonly string[]): Promise<SecretInfo>;
  list(): Promise<SecretInfo[]>;
  remove(name: string): Promise<boolean>;
  /** Throws secret.missing when it is not set. */
  get(name: string): Promise<Secret>;
  /** Puts secrets in the place of `${NAME}`; `$${` is a literal `${`. Throws secret.missing, and what `onSecret` throws. */
  fill(text: string, onSecret?: (secret: Secret) => void): Promise<string>;
  /** Encrypts everything anew under a new key and forgets the old one; answers how many. */
  rotateKey(): Promise<number>;
  /** Grows whenever any process changed a secret. */
  version(): number;
  /** All readable secrets, for the redactor alone. */
  all(): Secret[];
}

const steps = [
  `CREATE TABLE secrets (
    name TEXT PRIMARY KEY, hosts TEXT, key_id TEXT NOT NULL, nonce BLOB NOT NULL, box BLOB NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
  CREATE TABLE secrets_version (version INTEGER NOT NULL) STRICT;
  INSERT INTO secrets_version VALUES (1)`,
];

const namePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,127}$/;
const longest = 16_384;
const recheckMs = 200;

interface Row {
  name: string;
  hosts: string | null;
  key_id: string;
  nonce: Uint8Array;
  box: Uint8Array;
  created_at: string;
  updated_at: string;
}

/** Secrets in state.db, their key in a file of its own. */
export async function sqliteSecrets(db: Database, keyFile: string): Promise<SecretStore> {
  await db.migrate('secrets', steps);
  const ring = await openKeyRing(keyFile);
  let known = new Map<string, Secret>();
  let knownVersion = -1;

  // Own changes count at once; those of other processes are looked for a few times a second.
  let lastVersion = 0;
  let lookedAt = -Infinity;
  /** Counts how often a key from another process made more of the same rows readable. */
  let reloads = 0;
  const version = (): number => {
    const now = performance.now();
    if (now - lookedAt >= recheckMs) {
      lookedAt = now;
      lastVersion = db.get<{ version: number }>('SELECT version FROM secrets_version')?.version ?? 0;
    }
    return lastVersion + reloads;
  };
  const change = async <T>(run: (tx: Database) => T): Promise<T> => {
    const done = await db.write((tx) => {
      tx.run('UPDATE secrets_version SET version = version + 1');
      return run(tx);
    });
    lookedAt = -Infinity;
    return done;
  };
  const rows = (): Row[] => db.all<Row>('SELECT * FROM secrets ORDER BY name');
  const open = (row: Row): Secret | undefined => {
    const value = ring.unseal({ keyId: row.key_id, nonce: row.nonce, box: row.box }, bound(row.name, row.hosts));
    return value === undefined ? undefined : { name: row.name, value, ...parseHosts(row.hosts) };
  };
  function refresh(): Map<string, Secret> {
    const now = version();
    if (now === knownVersion) return known;
    known = new Map(rows().flatMap((row) => ((secret) => (secret ? [[row.name, secret] as const] : []))(open(row))));
    knownVersion = now;
    return known;
  }
  /** A row under a key we do not have was written by a process that rotated. */
  function freshKeys(): void {
    if (rows().some((row) => !ring.has(row.key_id)) && ring.reload()) reloads++;
  }
  async function get(name: string): Promise<Secret> {
    let secret = refresh().get(name);
    if (!secret) {
      lookedAt = -Infinity;
      freshKeys();
      secret = refresh().get(name);
    }
    if (!secret) throw fail('secret.missing', { name });
    return secret;
  }

  return {
    async set(name, value, hosts) {
      checkSecret(name, value);
      const at = new Date().toISOString();
      const row = await change((tx) => {
        // Only now: until this process writes, another one may introduce a new key.
        ring.reload();
        const hostText = hosts ? hostColumn(hosts) : hostsOf(tx, name);
        const { keyId, nonce, box } = ring.seal(value, bound(name, hostText));
        tx.run(
          `INSERT INTO secrets VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET
           hosts = excluded.hosts, key_id = excluded.key_id, nonce = excluded.nonce, box = excluded.box, updated_at = excluded.updated_at`,
          name,
          hostText,
          keyId,
          nonce,
          box,
          at,
          at,
        );
        return tx.get<Row>('SELECT * FROM secrets WHERE name = ?', name);
      });
      return info(row as Row, true);
    },
    async list() {
      freshKeys();
      return rows().map((row) => info(row, open(row) !== undefined));
    },
    remove: (name) => change((tx) => tx.run('DELETE FROM secrets WHERE name = ?', name) > 0),
    get,
    async fill(text, onSecret) {
      let filled = '';
      let from = 0;
      for (const match of text.matchAll(/\$\$\{|\$\{([^}]*)\}/g)) {
        const secret = match[1] === undefined ? undefined : await get(match[1].trim());
        if (secret) onSecret?.(secret);
        filled += text.slice(from, match.index) + (secret ? secret.value : '${');
        from = match.index + match[0].length;
      }
      return filled + text.slice(from);
    },
    async rotateKey() {
      const count = await change((tx) => {
        ring.addKey();
        const all = tx.all<Row>('SELECT * FROM secrets');
        let sealedAnew = 0;
        for (const row of all) {
          const secret = open(row);
          if (!secret) continue;
          const { keyId, nonce, box } = ring.seal(secret.value, bound(row.name, row.hosts));
          tx.run('UPDATE secrets SET key_id = ?, nonce = ?, box = ? WHERE name = ?', keyId, nonce, box, row.name);
          sealedAnew++;
        }
        return sealedAnew;
      });
      await db.write((tx) => {
        const needed = new Set(tx.all<{ key_id: string }>('SELECT key_id FROM secrets').map((row) => row.key_id));
        ring.forgetOld((keyId) => needed.has(keyId));
      });
      return count;
    },
    version,
    all: () => [...refresh().values()],
  };
}

/** The name and its hosts are sealed in: a row cannot be moved to another name or freed of its hosts by hand. */
const bound = (name: string, hosts: string | null): string => JSON.stringify([name, hosts]);

const hostColumn = (hosts: readonly string[]): string | null => (hosts.length === 0 ? null : JSON.stringify(hosts));

const hostsOf = (tx: Database, name: string): string | null =>
  tx.get<{ hosts: string | null }>('SELECT hosts FROM secrets WHERE name = ?', name)?.hosts ?? null;

const parseHosts = (hosts: string | null): { hosts?: string[] } =>
  hosts === null ? {} : { hosts: JSON.parse(hosts) as string[] };

function info(row: Row, isReadable: boolean): SecretInfo {
  return {
    name: row.name,
    ...parseHosts(row.hosts),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(isReadable ? {} : { isUnreadable: true }),
  };
}

function checkSecret(name: string, value: string): void {
  if (!namePattern.test(name))
    throw fail('request.invalid', {
      reason: `${JSON.stringify(name.slice(0, 80))} is no name for a secret. Use letters, digits, _ and -, starting with a letter or _.`,
    });
  if ([...value].length < 8)
    throw fail('request.invalid', {
      reason: `the value of ${name} is shorter than 8 characters; such a value cannot be told apart from ordinary text.`,
    });
  if (!value.isWellFormed())
    throw fail('request.invalid', { reason: `the value of ${name} is no valid Unicode text.` });
  if (value.length > longest)
    throw fail('request.invalid', { reason: `the value of ${name} is longer than ${longest} characters.` });
}
