import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database, SqlValue } from '../store/index.ts';
import { fromText, merge, toText, type Histogram } from './histogram.ts';

export const slotMs = 5 * 60_000;
const hourMs = 3600_000;
const dayMs = 24 * hourMs;
/** The older, the coarser: only recent calls are looked at closely, and no period but `all` exceeds a month. */
const ages = [
  { afterMs: 2 * dayMs, sizeMs: hourMs },
  { afterMs: 35 * dayMs, sizeMs: dayMs },
];
/** Sessions come and go; once their slots are old, the calls of all sessions are counted together. */
const sessionPrefix = 'session:';
const portion = 1000;

/** Calls of one tool by one asker within a slot, added up. */
export interface Slot {
  slot: number;
  name: string;
  pack: string;
  bundle: string;
  principal: string;
  token_id: string;
  project_id: string;
  calls: number;
  failures: number;
  duration_ms: number;
  result_bytes: number;
  spent_bytes: number;
  durations: Histogram;
}
export type SlotRow = Omit<Slot, 'durations'> & { durations: string };

const key = ['slot', 'name', 'principal', 'token_id', 'project_id'] as const;
const isThisSlot = key.map((column) => `${column} = ?`).join(' AND ');
const keyOf = (slot: Pick<Slot, (typeof key)[number]>): SqlValue[] => key.map((column) => slot[column]);

/** The table of slots. A year of calls is hundreds of thousands of rows, so it is always read and written in portions. */
export class StatRows {
  readonly #db: Database;
  /** How many read or wait to read; meanwhile rows must not be moved. */
  #readers = 0;
  #tidying: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(db: Database) {
    this.#db = db;
  }

  static async open(db: Database): Promise<StatRows> {
    await db.migrate('stats', [
      `CREATE TABLE stat_slots (slot INTEGER NOT NULL, name TEXT NOT NULL, pack TEXT NOT NULL, bundle TEXT NOT NULL, principal TEXT NOT NULL,
         token_id TEXT NOT NULL, project_id TEXT NOT NULL, calls INTEGER NOT NULL, failures INTEGER NOT NULL, duration_ms REAL NOT NULL,
         result_bytes INTEGER NOT NULL, spent_bytes INTEGER NOT NULL, durations TEXT NOT NULL,
         PRIMARY KEY (slot, name, principal, token_id, project_id)) STRICT, WITHOUT ROWID;`,
    ]);
    return new StatRows(db);
  }

  add(slots: Iterable<Slot>): Promise<void> {
    return this.#db.write((db) => {
      for (const slot of slots) addUp(db, slot);
    });
  }

  /** All rows from a time on, in portions between which others get their turn. */
  async *since(time: number): AsyncGenerator<SlotRow[], void, void> {
    this.#readers++;
    try {
      await this.#tidying.catch(() => {});
      let after: SqlValue[] = [time, '', '', '', ''];
      for (;;) {
        const rows = this.#db.all<SlotRow>(
          `SELECT * FROM stat_slots WHERE (${key.join(', ')}) > (?, ?, ?, ?, ?) ORDER BY ${key.join(', ')} LIMIT ?`,
          ...after,
          portion,
        );
        yield rows;
        if (rows.length < portion) return;
        after = keyOf(rows.at(-1)!);
        await nextTurn();
      }
    } finally {
      this.#readers--;
    }
  }

  /** Merges old slots; stops when a reader comes, and does the rest next time. */
  tidy(now = Date.now()): Promise<void> {
    return (this.#tidying = this.#tidying.catch(() => {}).then(() => this.#coarsen(now)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#tidying.catch(() => {});
  }

  async #coarsen(now: number): Promise<void> {
    for (const { afterMs, sizeMs } of ages) {
      const before = Math.floor((now - afterMs) / sizeMs) * sizeMs;
      for (let from = 0; this.#readers === 0 && !this.#isClosed;) {
        const rows = this.#db.all<SlotRow>(
          `SELECT * FROM stat_slots WHERE slot >= ? AND slot < ? AND (slot % ? <> 0 ${sizeMs === dayMs ? `OR principal GLOB '${sessionPrefix}?*'` : ''})
           ORDER BY slot LIMIT ?`,
          from,
          before,
          sizeMs,
          portion,
        );
        if (rows.length > 0) await this.#db.write((db) => rows.forEach((row) => move(db, row, sizeMs)));
        if (rows.length < portion) break;
        from = rows.at(-1)!.slot;
        await nextTurn();
      }
    }
  }
}

function move(db: Database, row: SlotRow, sizeMs: number): void {
  // Another process may have moved it.
  if (db.run(`DELETE FROM stat_slots WHERE ${isThisSlot}`, ...keyOf(row)) === 0) return;
  const isOfSession = sizeMs === dayMs && row.principal.startsWith(sessionPrefix);
  addUp(db, {
    ...row,
    durations: fromText(row.durations),
    slot: Math.floor(row.slot / sizeMs) * sizeMs,
    ...(isOfSession && { principal: sessionPrefix, token_id: '' }),
  });
}

function addUp(db: Database, slot: Slot): void {
  const row = db.get<SlotRow>(`SELECT * FROM stat_slots WHERE ${isThisSlot}`, ...keyOf(slot));
  const all = row ? together({ ...row, durations: fromText(row.durations) }, slot) : slot;
  db.run(
    `INSERT OR REPLACE INTO stat_slots VALUES (?${', ?'.repeat(12)})`,
    slot.slot,
    slot.name,
    all.pack,
    all.bundle,
    slot.principal,
    slot.token_id,
    slot.project_id,
    all.calls,
    all.failures,
    all.duration_ms,
    all.result_bytes,
    all.spent_bytes,
    toText(all.durations),
  );
}

/** Merges two slots of the same calls. */
export function together(a: Slot, b: Slot): Slot {
  return {
    ...a,
    calls: a.calls + b.calls,
    failures: a.failures + b.failures,
    duration_ms: a.duration_ms + b.duration_ms,
    result_bytes: a.result_bytes + b.result_bytes,
    spent_bytes: a.spent_bytes + b.spent_bytes,
    durations: merge(merge(new Map(), a.durations), b.durations),
  };
}
