import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallRecord } from '../schema/index.ts';
import type { Database, SqlValue } from '../store/index.ts';
import { Behind } from './behind.ts';
import type { WalSync } from './wal-sync.ts';

const writeReadsAfterMs = 250;
const pollMinuteMs = 60_000;
const verifyAtOnce = 500;
const writeAtOnce = 100;
const maxWaiting = 50_000;
const columns = [
  'at', 'request_id', 'parent', 'tool', 'tool_id', 'bundle', 'level', 'door', 'principal', 'token_id', 'project_id',
  'session_id', 'outcome', 'duration_ms', 'result_bytes', 'args_hmac', 'calls',
] as const; // prettier-ignore

const insertRow = `INSERT INTO audit (seq, ${columns.join(', ')}, hash) VALUES (?${', ?'.repeat(columns.length)}, ?)`;

type AuditRow = Record<(typeof columns)[number], SqlValue> & { seq: number; hash: string };

/**
 * Every call as one row, each sealed with the one before it by a keyed hash: a row that is changed, removed or
 * slipped in breaks the chain. The place in the chain is taken inside the write transaction, so several processes may append.
 */
export class Audit {
  readonly #db: Database;
  readonly #key: Buffer;
  readonly #sync: WalSync;
  readonly #behind: Behind;
  readonly #onError: (error: unknown) => void;
  readonly #polls = new Map<string, { record: CallRecord; calls: number; durationMs: number }>();
  #reads: CallRecord[] = [];
  #pollMinute = 0;

  private constructor(options: AuditOptions) {
    this.#db = options.db;
    this.#key = options.key;
    this.#sync = options.sync;
    this.#onError = options.onError;
    this.#behind = new Behind(writeReadsAfterMs, () => this.#writeReads(), options.onError);
  }

  static async open(options: AuditOptions): Promise<Audit> {
    await options.db.migrate('audit', [
      `CREATE TABLE audit (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, request_id TEXT NOT NULL, parent TEXT, tool TEXT NOT NULL,
         tool_id TEXT NOT NULL, bundle TEXT NOT NULL, level TEXT NOT NULL, door TEXT NOT NULL, principal TEXT NOT NULL, token_id TEXT,
         project_id TEXT, session_id TEXT, outcome TEXT NOT NULL, duration_ms REAL NOT NULL, result_bytes INTEGER NOT NULL,
         args_hmac TEXT NOT NULL, calls INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
       CREATE INDEX audit_at ON audit (at);
       CREATE TABLE audit_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;`,
    ]);
    return new Audit(options);
  }

  /** Resolves when the row of a write or admin call is on disk; reads are written a moment later, polls once a minute. Never rejects. */
  async add(record: CallRecord): Promise<void> {
    if (isPoll(record)) return this.#countPoll(record);
    if (record.level === 'read') {
      this.#reads.push(record);
      this.#behind.soon();
      return;
    }
    try {
      await this.#db.write((db) => this.#append(db, [{ record, calls: 1 }]));
      await this.#sync.written();
    } catch (error) {
      this.#onError(error);
    }
  }

  hmac(text: string): string {
    return createHmac('sha256', this.#key).update('args\n').update(text).digest('hex');
  }

  /** Checks every row against the one before it; answers the first that does not fit. */
  async verify(): Promise<{ ok: boolean; rows: number; brokenAt?: number }> {
    await this.flush();
    const head = this.#db.get<{ seq: number; hash: string }>('SELECT seq, hash FROM audit_head');
    let [seq, hash] = [0, ''];
    for (;;) {
      const rows = this.#db.all<AuditRow>('SELECT * FROM audit WHERE seq > ? ORDER BY seq LIMIT ?', seq, verifyAtOnce);
      for (const row of rows) {
        if (row.seq !== seq + 1 || row.hash !== this.#seal(hash, row.seq, row))
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
  async rows(query: AuditQuery): Promise<Record<string, unknown>[]> {
    await this.flush();
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

  /** Writes what waits: reads, and polls of the running minute. */
  async flush(): Promise<void> {
    await this.#behind.flush();
  }

  async close(): Promise<void> {
    this.#closePolls();
    await this.flush();
  }

  #count(): number {
    return this.#db.get<{ n: number }>('SELECT count(*) AS n FROM audit')?.n ?? 0;
  }

  #countPoll(record: CallRecord): void {
    const minute = Math.floor(Date.now() / pollMinuteMs);
    if (minute !== this.#pollMinute) this.#closePolls();
    this.#pollMinute = minute;
    const key = [
      record.name,
      record.principal,
      record.tokenId,
      record.projectId,
      record.sessionId,
      record.door,
      record.outcome,
    ].join(' ');
    const known = this.#polls.get(key);
    if (known) {
      known.calls++;
      known.durationMs += record.durationMs;
    } else {
      this.#polls.set(key, { record, calls: 1, durationMs: record.durationMs });
      // The last minute of a quiet server must not wait for the next poll.
      setTimeout(() => this.#closePolls(minute), pollMinuteMs).unref();
    }
  }

  #closePolls(minute = this.#pollMinute): void {
    if (minute !== this.#pollMinute || this.#polls.size === 0) return;
    const polls = [...this.#polls.values()];
    this.#polls.clear();
    const entries = polls.map(({ record, calls, durationMs }) => ({ record: { ...record, durationMs }, calls }));
    this.#db.write((db) => this.#append(db, entries)).catch(this.#onError);
  }

  /** In portions, so that a burst of calls does not hold up those that come after it. */
  async #writeReads(): Promise<void> {
    const records = this.#reads;
    this.#reads = [];
    while (records.length > 0) {
      const some = records.slice(0, writeAtOnce).map((record) => ({ record, calls: 1 }));
      try {
        await this.#db.write((db) => this.#append(db, some));
      } catch (error) {
        // Tried again with what comes next, up to what memory can bear.
        this.#reads = [...records, ...this.#reads].slice(0, maxWaiting);
        throw error;
      }
      records.splice(0, writeAtOnce);
    }
  }

  #append(db: Database, entries: readonly { record: CallRecord; calls: number }[]): void {
    const head = db.get<{ seq: number; hash: string }>('SELECT seq, hash FROM audit_head');
    let [seq, hash] = [head?.seq ?? 0, head?.hash ?? ''];
    for (const { record, calls } of entries) {
      const row = rowOf(record, calls);
      hash = this.#seal(hash, ++seq, row);
      db.run(insertRow, seq, ...columns.map((name) => row[name]), hash);
    }
    db.run('INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?)', seq, hash);
  }

  #seal(before: string, seq: number, row: Pick<AuditRow, (typeof columns)[number]>): string {
    const text = JSON.stringify([before, seq, ...columns.map((name) => row[name])]);
    return createHmac('sha256', this.#key).update('row\n').update(text).digest('hex');
  }
}

export interface AuditOptions {
  db: Database;
  key: Buffer;
  sync: WalSync;
  onError: (error: unknown) => void;
}

export interface AuditQuery {
  limit: number;
  before?: number;
  tool?: string;
  tokenId?: string;
  since?: string;
}

/** Questions that clients ask over and over; one row a minute tells as much as hundreds. */
const isPoll = ({ name, level, parent }: CallRecord): boolean =>
  level === 'read' && parent === undefined && (name === 'session_events' || name.endsWith('_list'));

function rowOf(record: CallRecord, calls: number): Pick<AuditRow, (typeof columns)[number]> {
  return {
    at: record.at,
    request_id: record.requestId,
    parent: record.parent ?? null,
    tool: record.name,
    tool_id: record.toolId,
    bundle: record.bundleSlug,
    level: record.level,
    door: record.door,
    principal: record.principal,
    token_id: record.tokenId ?? null,
    project_id: record.projectId ?? null,
    session_id: record.sessionId ?? null,
    outcome: record.outcome,
    duration_ms: Math.round(record.durationMs * 1000) / 1000,
    result_bytes: record.resultBytes,
    args_hmac: record.argsHmac,
    calls,
  };
}
