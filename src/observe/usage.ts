import type { Database } from '../store/index.ts';
import { Behind } from './behind.ts';
import { bucketOf, count, fromText, merge, quantile, toText, type Histogram } from './histogram.ts';
import type { Usage } from './observer.ts';
import type { Run } from './runs.ts';

const writeAfterMs = 200;
const lookEveryMs = 500;
/** How long the counts of a tool that is gone are kept: its pack or server may come back. */
const goneForMs = 30 * 24 * 3600_000;

interface Counts {
  calls: number;
  failures: number;
  lastCalledAt: string;
  durations: Histogram;
}

interface Row {
  tool_id: string;
  calls: number;
  failures: number;
  last_called_at: string;
  durations: string;
  revision: number;
}

/**
 * How often each tool was called. Reading is a look into memory; what is new goes to disk in batches, added up
 * there, so that several processes count together. Each looks twice a second for what the others wrote.
 */
export class UsageCounters {
  readonly #db: Database;
  readonly #stored = new Map<string, Counts>();
  readonly #behind: Behind;
  readonly #looking: NodeJS.Timeout;
  #fresh = new Map<string, Counts>();
  /** On their way to disk. */
  #flying: ReadonlyMap<string, Counts> = new Map();
  #revision = 0;

  private constructor(db: Database, onError: (error: unknown) => void) {
    this.#db = db;
    this.#behind = new Behind(writeAfterMs, () => this.#write(), onError);
    this.#looking = setInterval(() => this.#look(), lookEveryMs).unref();
  }

  static async open(db: Database, onError: (error: unknown) => void): Promise<UsageCounters> {
    await db.migrate('usage', [
      `CREATE TABLE usage (tool_id TEXT PRIMARY KEY, calls INTEGER NOT NULL, failures INTEGER NOT NULL,
         last_called_at TEXT NOT NULL, durations TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
       CREATE INDEX usage_revision ON usage (revision);`,
    ]);
    const counters = new UsageCounters(db, onError);
    counters.#look();
    return counters;
  }

  add({ like: { toolId, outcome }, lastAt, durationsMs }: Run): void {
    const counts = this.#fresh.get(toolId) ?? { calls: 0, failures: 0, lastCalledAt: '', durations: new Map() };
    counts.calls += durationsMs.length;
    if (outcome !== 'ok') counts.failures += durationsMs.length;
    if (lastAt > counts.lastCalledAt) counts.lastCalledAt = lastAt;
    for (const ms of durationsMs) count(counts.durations, bucketOf(ms));
    this.#fresh.set(toolId, counts);
    this.#behind.soon();
  }

  of(toolId: string): Usage {
    let sum = this.#stored.get(toolId);
    for (const more of [this.#flying.get(toolId), this.#fresh.get(toolId)]) if (more) sum = added(sum, more);
    if (!sum) return { callCount: 0, failureCount: 0 };
    return {
      callCount: sum.calls,
      failureCount: sum.failures,
      lastCalledAt: sum.lastCalledAt,
      p50Ms: quantile(sum.durations, 0.5),
    };
  }

  /** Forgets tools that are gone and were not called for long. */
  async forgetGone(isThere: (toolId: string) => boolean, now = Date.now()): Promise<void> {
    const before = new Date(now - goneForMs).toISOString();
    const gone = [...this.#stored].filter(([toolId, counts]) => counts.lastCalledAt < before && !isThere(toolId));
    if (gone.length === 0) return;
    await this.#db.write((db) => {
      for (const [toolId] of gone) db.run('DELETE FROM usage WHERE tool_id = ? AND last_called_at < ?', toolId, before);
    });
    for (const [toolId] of gone) this.#stored.delete(toolId);
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await this.#behind.flush();
  }

  async #write(): Promise<void> {
    if (this.#fresh.size === 0) return;
    const taken = this.#fresh;
    this.#flying = taken;
    this.#fresh = new Map();
    try {
      const sums = await this.#db.write((db) => addUp(db, taken));
      for (const [toolId, counts] of sums) this.#stored.set(toolId, counts);
    } catch (error) {
      for (const [toolId, counts] of taken) this.#fresh.set(toolId, added(this.#fresh.get(toolId), counts));
      this.#behind.soon();
      throw error;
    } finally {
      this.#flying = new Map();
    }
  }

  /** Takes over whatever any process has written since the last look. */
  #look(): void {
    try {
      for (const row of this.#db.all<Row>('SELECT * FROM usage WHERE revision > ? ORDER BY revision', this.#revision)) {
        this.#revision = row.revision;
        this.#stored.set(row.tool_id, countsOf(row));
      }
    } catch {
      // Busy or closing; the next look comes soon enough.
    }
  }
}

/** Adds to the stored counts, whichever process wrote them, and answers the sums. */
function addUp(db: Database, taken: ReadonlyMap<string, Counts>): Map<string, Counts> {
  let revision = db.get<{ revision: number | null }>('SELECT max(revision) AS revision FROM usage')?.revision ?? 0;
  const sums = new Map<string, Counts>();
  for (const [toolId, counts] of taken) {
    const row = db.get<Row>('SELECT * FROM usage WHERE tool_id = ?', toolId);
    const sum = added(row && countsOf(row), counts);
    sums.set(toolId, sum);
    db.run(
      'INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?, ?)',
      toolId,
      sum.calls,
      sum.failures,
      sum.lastCalledAt,
      toText(sum.durations),
      ++revision,
    );
  }
  return sums;
}

function countsOf(row: Row): Counts {
  return {
    calls: row.calls,
    failures: row.failures,
    lastCalledAt: row.last_called_at,
    durations: fromText(row.durations),
  };
}

function added(old: Counts | undefined, more: Counts): Counts {
  return {
    calls: (old?.calls ?? 0) + more.calls,
    failures: (old?.failures ?? 0) + more.failures,
    lastCalledAt: old && old.lastCalledAt > more.lastCalledAt ? old.lastCalledAt : more.lastCalledAt,
    durations: merge(merge(new Map(), old?.durations ?? new Map()), more.durations),
  };
}
