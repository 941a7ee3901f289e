import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallRecord } from '../schema/index.ts';
import type { Database, SqlValue } from '../store/index.ts';

const verifyAtOnce = 500;
const appendAtOnce = 256;
const columns = [
  'at', 'request_id', 'parent', 'tool', 'tool_id', 'bundle', 'level', 'door', 'principal', 'token_id', 'project_id',
  'session_id', 'outcome', 'duration_ms', 'result_bytes', 'args_hmac', 'calls',
] as const; // prettier-ignore
const insertRow = `INSERT INTO audit (seq, ${columns.join(', ')}, hash) VALUES (?${', ?'.repeat(columns.length)}, ?)`;

/** A call on its way into the chain: one value per column, the arguments still as their plain digest. */
export type Entry = SqlValue[];
const argsAt = columns.indexOf('args_hmac');

type AuditRow = Record<(typeof columns)[number], SqlValue> & { seq: number; hash: string };

/**
 * Rows, each sealed with the one before it by a keyed hash: a row that is changed, removed or slipped in breaks the
 * chain. The place in it is taken inside the write transaction, so several threads and processes may append.
 */
export class AuditChain {
  readonly #db: Database;
  readonly #key: KeyObject;

  private constructor(db: Database, key: Uint8Array) {
    this.#db = db;
    this.#key = createSecretKey(key);
  }

  static async open(db: Database, key: Uint8Array): Promise<AuditChain> {
    await db.migrate('audit', [
      `CREATE TABLE audit (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, request_id TEXT NOT NULL, parent TEXT, tool TEXT NOT NULL,
         tool_id TEXT NOT NULL, bundle TEXT NOT NULL, level TEXT NOT NULL, door TEXT NOT NULL, principal TEXT NOT NULL, token_id TEXT,
         project_id TEXT, session_id TEXT, outcome TEXT NOT NULL, duration_ms REAL NOT NULL, result_bytes INTEGER NOT NULL,
         args_hmac TEXT NOT NULL, calls INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
       CREATE INDEX audit_at ON audit (at);
       CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;`,
    ]);
    return new AuditChain(db, key);
  }

  /** Appends in portions, so that other writers get their turn in between; takes out of the list what is committed. */
  async append(entries: Entry[]): Promise<void> {
    while (entries.length > 0) {
      await this.#appendSome(entries.slice(0, appendAtOnce));
      entries.splice(0, appendAtOnce);
    }
  }

  #appendSome(entries: readonly Entry[]): Promise<void> {
    return this.#db.write((db) => {
      let { seq, hash } = this.#head() ?? { seq: 0, hash: '' };
      for (const entry of entries) {
        const values = entry.map(asStored);
        values[argsAt] = this.#keyed('args', String(entry[argsAt]));
        hash = this.#seal(hash, ++seq, values);
        db.run(insertRow, seq, ...values, hash);
      }
      db.run('INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?)', seq, hash);
    });
  }

  /** Checks every row against the one before it; answers the first that does not fit. */
  async verify(): Promise<{ ok: boolean; rows: number; brokenAt?: number }> {
    const head = this.#head();
    let [seq, hash] = [0, ''];
    for (;;) {
      const rows = this.#db.all<AuditRow>('SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?', seq, verifyAtOnce);
      for (const row of rows) {
        const values = columns.map((name) => row[name]);
        if (row.seq !== seq + 1 || row.hash !== this.#seal(hash, row.seq, values))
          return { ok: false, rows: this.#count(), brokenAt: seq + 1 };
        [seq, hash] = [row.seq, row.hash];
        if (head?.seq === seq && head.hash !== hash) return { ok: false, rows: this.#count(), brokenAt: seq };
      }
      if (rows.length < verifyAtOnce) break;
      await nextTurn();
    }
    // Rows cut off at the end leave a whole chain behind: the head says how long it was.
    return seq >= (head?.seq ?? 0) ? { ok: true, rows: seq } : { ok: false, rows: this.#count(), brokenAt: seq + 1 };
  }

  /** Newest first. */
  rows(query: AuditQuery): Record<string, unknown>[] {
    const filters: [string, SqlValue | undefined][] = [
      ['seq < ?', query.before],
      ['tool = ?', query.tool],
      ['token_id = ?', query.tokenId],
      ['at >= ?', query.since],
    ];
    const used = filters.filter((each): each is [string, SqlValue] => each[1] !== undefined);
    const where = used.length > 0 ? `WHERE ${used.map(([sql]) => sql).join(' AND ')}` : '';
    return this.#db.all(
      `SELECT * FROM audit ${where} ORDER BY seq DESC LIMIT ?`,
      ...used.map(([, value]) => value),
      query.limit,
    );
  }

  #head(): { seq: number; hash: string } | undefined {
    return this.#db.get('SELECT seq, hash FROM audit_head');
  }

  #count(): number {
    return this.#db.get<{ n: number }>('SELECT count(*) AS n FROM audit')?.n ?? 0;
  }

  #seal(before: string, seq: number, values: readonly SqlValue[]): string {
    return this.#keyed('row', JSON.stringify([before, seq, ...values]));
  }

  #keyed(purpose: string, text: string): string {
    return createHmac('sha256', this.#key).update(`${purpose}\n${text}`).digest('hex');
  }
}

/** As the database gives it back: half a character is stored as another one, and a NUL may end the text. */
const asStored = (value: SqlValue): SqlValue =>
  typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())
    ? value.toWellFormed().replaceAll('\0', '\ufffd')
    : value;

export interface AuditQuery {
  limit: number;
  before?: number;
  tool?: string;
  tokenId?: string;
  since?: string;
}

/** The values of one call, in the order of the columns. */
export function entryOf(record: CallRecord, calls = 1, durationMs = record.durationMs): Entry {
  return [
    record.at,
    record.requestId,
    record.parent ?? null,
    record.name,
    record.toolId,
    record.bundleSlug,
    record.level,
    record.door,
    record.principal,
    record.tokenId ?? null,
    record.projectId ?? null,
    record.sessionId ?? null,
    record.outcome,
    Math.round(durationMs * 1000) / 1000,
    record.resultBytes,
    record.argsDigest(),
    calls,
  ];
}
