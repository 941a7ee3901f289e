import { setImmediate as nextTurn } from 'node:timers/promises';
import { fail, type CallRecord } from '../schema/index.ts';
import type { Database, SqlValue } from '../store/index.ts';
import { KeyedHash } from './keyed-hash.ts';

const verifyAtOnce = 500;
const appendAtOnce = 256;
const lookAtOnce = 20_000;
/** Rows are in the order in which calls end; calls that began at about the same time are at most this many rows apart. */
const disorder = 5000;
const columns = [
  'at', 'request_id', 'parent', 'tool', 'tool_id', 'bundle', 'level', 'door', 'principal', 'token_id', 'project_id',
  'session_id', 'outcome', 'duration_ms', 'result_bytes', 'args_hmac', 'calls',
] as const; // prettier-ignore
const insertRow = `INSERT INTO audit (seq, ${columns.join(', ')}, hash) VALUES (?${', ?'.repeat(columns.length)}, ?)`;

/** A call on its way into the chain: one value per column, the arguments still as their plain digest. */
export type Entry = SqlValue[];
const argsAt = columns.indexOf('args_hmac');

/** A place in the chain. */
interface Link {
  seq: number;
  hash: string;
}

interface SealedLink extends Link {
  seal?: string | null;
}

type AuditRow = Record<(typeof columns)[number], SqlValue> & { seq: number; hash: string };

/**
 * Rows, each sealed with the one before it by a keyed hash: a row that is changed, removed or slipped in breaks the
 * chain. The place in it is taken inside the write transaction, so several threads and processes may append.
 */
export class AuditChain {
  readonly #db: Database;
  readonly #keyedHash: KeyedHash;

  private constructor(db: Database, key: Uint8Array) {
    this.#db = db;
    this.#keyedHash = new KeyedHash(key);
  }

  static async open(db: Database, key: Uint8Array): Promise<AuditChain> {
    const chain = new AuditChain(db, key);
    await db.migrate('audit', [
      `CREATE TABLE audit (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, request_id TEXT NOT NULL, parent TEXT, tool TEXT NOT NULL,
         tool_id TEXT NOT NULL, bundle TEXT NOT NULL, level TEXT NOT NULL, door TEXT NOT NULL, principal TEXT NOT NULL, token_id TEXT,
         project_id TEXT, session_id TEXT, outcome TEXT NOT NULL, duration_ms REAL NOT NULL, result_bytes INTEGER NOT NULL,
         args_hmac TEXT NOT NULL, calls INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
       CREATE INDEX audit_at ON audit (at);
       CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;`,
      // From here on there is always a head, and it is sealed: whoever does not have the key cannot make the chain end sooner.
      (tx) => {
        const head = tx.get<Link>('SELECT seq, hash FROM audit_head') ?? { seq: 0, hash: '' };
        tx.run('ALTER TABLE audit_head ADD COLUMN seal TEXT');
        chain.#putHead(tx, head, true);
      },
    ]);
    await db.migrate('audit_start', [
      `CREATE TABLE audit_start (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL,
         seal TEXT NOT NULL) STRICT;`,
    ]);
    return chain;
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
      const head = this.#head();
      let { seq, hash } = head ?? this.#lastRow();
      for (const entry of entries) {
        const values = entry.map(asStored);
        values[argsAt] = this.#keyed('args', String(entry[argsAt]));
        hash = this.#seal(hash, ++seq, values);
        db.run(insertRow, seq, ...values, hash);
      }
      // What somebody else made the end of the chain gets no seal by going on from there.
      this.#putHead(db, { seq, hash }, this.#isSealedHead(head));
    });
  }

  /**
   * Removes rows of calls that began before a time, the oldest first, in portions. Where the chain begins now is sealed:
   * whoever does not have the key cannot make it begin later. Throws tool.failed at a row that does not fit, and keeps it.
   */
  async prune(before: string): Promise<{ deleted: number }> {
    const end = this.#firstSince(before) ?? (this.#head()?.seq ?? 0) + 1;
    let deleted = 0;
    for (;;) {
      const start = this.#start();
      const { last, isWhole } = this.#isSealed(start) ? this.#walk(start, end) : { last: start, isWhole: false };
      if (last.seq > start.seq) deleted += await this.#beginAfter(last);
      if (!isWhole)
        throw fail('tool.failed', {
          reason: `row ${last.seq + 1} of the audit was changed or removed; ${deleted} rows before it are gone, it and the later ones stay`,
        });
      if (last.seq - start.seq < verifyAtOnce) return { deleted };
      await nextTurn();
    }
  }

  #beginAfter({ seq, hash }: Link): Promise<number> {
    return this.#db.write((db) => {
      // Another process may have come further.
      if (this.#start().seq >= seq) return 0;
      db.run('INSERT OR REPLACE INTO audit_start VALUES (1, ?, ?, ?)', seq, hash, this.#sealOfStart(seq, hash));
      return db.run('DELETE FROM audit WHERE seq <= ?', seq);
    });
  }

  /** Checks some rows against those before them; answers the last that fits, and whether all did. */
  #walk(from: Link, end: number): { last: Link; isWhole: boolean } {
    let last = from;
    const rows = this.#db.all<AuditRow>(
      'SELECT * FROM audit WHERE seq > ? AND seq < ? ORDER BY seq LIMIT ?',
      from.seq,
      end,
      verifyAtOnce,
    );
    for (const row of rows) {
      const values = columns.map((name) => row[name]);
      if (row.seq !== last.seq + 1 || row.hash !== this.#seal(last.hash, row.seq, values))
        return { last, isWhole: false };
      last = { seq: row.seq, hash: row.hash };
    }
    return { last, isWhole: true };
  }

  /** Checks every row against the one before it; answers the first that does not fit. */
  async verify(): Promise<{ ok: boolean; rows: number; brokenAt?: number }> {
    const head = this.#head();
    const start = this.#start();
    if (!this.#isSealed(start)) return { ok: false, rows: this.#count(), brokenAt: start.seq + 1 };
    const early = this.#db.get<Link>('SELECT seq FROM audit WHERE seq <= ? LIMIT 1', start.seq);
    if (early) return { ok: false, rows: this.#count(), brokenAt: early.seq };
    for (let at: Link = start; ;) {
      const { last, isWhole } = this.#walk(at, Infinity);
      // Rows may have been removed by those who may while these were looked at.
      if (!isWhole && this.#start().seq > start.seq) return this.verify();
      if (!isWhole) return { ok: false, rows: this.#count(), brokenAt: last.seq + 1 };
      // The head was read before the rows; whatever was appended since is not checked.
      if (head && at.seq < head.seq && head.seq <= last.seq && !this.#isHead(head))
        return { ok: false, rows: this.#count(), brokenAt: head.seq };
      if (last.seq - at.seq === verifyAtOnce) {
        at = last;
        await nextTurn();
        continue;
      }
      // A chain whose last rows were cut off is still intact; only the head knows how long it was.
      return head && this.#isSealedHead(head) && last.seq >= head.seq
        ? { ok: true, rows: last.seq - start.seq }
        : { ok: false, rows: this.#count(), brokenAt: last.seq + 1 };
    }
  }

  #isHead({ seq, hash }: Link): boolean {
    return this.#db.get<{ hash: string }>('SELECT hash FROM audit WHERE seq = ?', seq)?.hash === hash;
  }

  /** Newest first. A tool that is hardly ever called is looked for in portions, between which others get their turn. */
  async rows(query: AuditQuery): Promise<Record<string, unknown>[]> {
    const filters: [string, SqlValue | undefined][] = [
      ['tool = ?', query.tool],
      ['token_id = ?', query.tokenId],
      ['at >= ?', query.since],
    ];
    const used = filters.filter((each): each is [string, SqlValue] => each[1] !== undefined);
    const more = used.map(([sql]) => ` AND ${sql}`).join('');
    const found: Record<string, unknown>[] = [];
    const end = (this.#head()?.seq ?? 0) + 1;
    const oldest = query.since === undefined ? this.#start().seq + 1 : (this.#firstSince(query.since) ?? end);
    for (let high = Math.min(query.before ?? end, end); high > oldest && found.length < query.limit;) {
      const low = Math.max(oldest, high - lookAtOnce);
      const rows = this.#db.all<Record<string, unknown>>(
        `SELECT * FROM audit WHERE seq < ? AND seq >= ?${more} ORDER BY seq DESC LIMIT ?`,
        high,
        low,
        ...used.map(([, value]) => value),
        query.limit - found.length,
      );
      found.push(...rows);
      high = low;
      if (found.length < query.limit) await nextTurn();
    }
    return found;
  }

  /** The first row of calls that began at a time or later; rows before it began earlier. */
  #firstSince(time: string): number | undefined {
    return (
      this.#db.get<{ seq: number | null }>(
        'SELECT min(seq) AS seq FROM (SELECT seq FROM audit WHERE at >= ? ORDER BY at LIMIT ?)',
        time,
        disorder,
      )?.seq ?? undefined
    );
  }

  /** The last row that was removed, whose hash the first one builds on. */
  #start(): SealedLink {
    return this.#db.get('SELECT seq, hash, seal FROM audit_start') ?? { seq: 0, hash: '' };
  }

  #isSealed({ seq, hash, seal }: SealedLink): boolean {
    return seal === undefined ? seq === 0 : seal === this.#sealOfStart(seq, hash);
  }

  #sealOfStart(seq: number, hash: string): string {
    return this.#keyed('start', JSON.stringify([seq, hash]));
  }

  /** The last row, as whoever wrote it says. */
  #head(): SealedLink | undefined {
    return this.#db.get('SELECT seq, hash, seal FROM audit_head');
  }

  #putHead(tx: Database, { seq, hash }: Link, isSealed: boolean): void {
    tx.run(
      'INSERT OR REPLACE INTO audit_head (one, seq, hash, seal) VALUES (1, ?, ?, ?)',
      seq,
      hash,
      isSealed ? this.#sealOfHead(seq, hash) : null,
    );
  }

  #isSealedHead(head: SealedLink | undefined): boolean {
    return head !== undefined && head.seal === this.#sealOfHead(head.seq, head.hash);
  }

  #sealOfHead(seq: number, hash: string): string {
    return this.#keyed('head', JSON.stringify([seq, hash]));
  }

  #lastRow(): Link {
    return this.#db.get('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1') ?? { seq: 0, hash: '' };
  }

  #count(): number {
    return this.#db.get<{ n: number }>('SELECT count(*) AS n FROM audit')?.n ?? 0;
  }

  #seal(before: string, seq: number, values: readonly SqlValue[]): string {
    return this.#keyed('row', JSON.stringify([before, seq, ...values]));
  }

  #keyed(purpose: string, text: string): string {
    return this.#keyedHash.of(`${purpose}\n${text}`);
  }
}

/** As the database will return it: a lone surrogate is stored as another character, and a NUL may end the text. */
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
