import type { CallRecord } from '../schema/index.ts';
import type { Database } from '../store/index.ts';
import { Behind } from './behind.ts';
import { bucketOf, count, fromText, merge, quantile, toText, type Histogram } from './histogram.ts';
import type { Reach, Series, Stats, StatsQuery, ToolStats } from './observer.ts';
import type { Run } from './runs.ts';

const writeAfterMs = 500;
const slotMs = 5 * 60_000;
const hourMs = 3600_000;
/** Slots older than this are put together by the hour. */
const fineForMs = 48 * hourMs;
const tidyEveryMs = hourMs;
const periods = { day: 24 * hourMs, week: 7 * 24 * hourMs, month: 30 * 24 * hourMs, all: Infinity };
const bytesPerToken = 4;

interface Slot {
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
type Row = Omit<Slot, 'durations'> & { durations: string };

/** Calls added up per five minutes, tool and asker: small enough to keep for ever, fine enough for charts. */
export class StatSlots {
  readonly #db: Database;
  readonly #behind: Behind;
  readonly #tidying: NodeJS.Timeout;
  #fresh = new Map<string, Slot>();

  private constructor(db: Database, onError: (error: unknown) => void) {
    this.#db = db;
    this.#behind = new Behind(writeAfterMs, () => this.#write(), onError);
    this.#tidying = setInterval(() => void this.tidy().catch(onError), tidyEveryMs).unref();
  }

  static async open(db: Database, onError: (error: unknown) => void): Promise<StatSlots> {
    await db.migrate('stats', [
      `CREATE TABLE stat_slots (slot INTEGER NOT NULL, name TEXT NOT NULL, pack TEXT NOT NULL, bundle TEXT NOT NULL, principal TEXT NOT NULL,
         token_id TEXT NOT NULL, project_id TEXT NOT NULL, calls INTEGER NOT NULL, failures INTEGER NOT NULL, duration_ms REAL NOT NULL,
         result_bytes INTEGER NOT NULL, spent_bytes INTEGER NOT NULL, durations TEXT NOT NULL,
         PRIMARY KEY (slot, name, principal, token_id, project_id)) STRICT, WITHOUT ROWID;`,
    ]);
    return new StatSlots(db, onError);
  }

  add({ like: record, durationsMs, resultBytes }: Run): void {
    const at = Math.floor(Date.parse(record.at) / slotMs) * slotMs;
    const key = `${at} ${record.name} ${record.principal} ${record.tokenId ?? ''} ${record.projectId ?? ''}`;
    let slot = this.#fresh.get(key);
    if (!slot) this.#fresh.set(key, (slot = emptySlot(at, record)));
    slot.calls += durationsMs.length;
    if (record.outcome !== 'ok') slot.failures += durationsMs.length;
    slot.result_bytes += resultBytes;
    if (record.parent === undefined && (record.door === 'mcp' || record.door === 'socket'))
      slot.spent_bytes += resultBytes;
    for (const ms of durationsMs) {
      slot.duration_ms += ms;
      count(slot.durations, bucketOf(ms));
    }
    this.#behind.soon();
  }

  async stats(query: StatsQuery): Promise<Stats> {
    const slots = (await this.#read(query)).filter((slot) => slot.name !== 'run');
    const tools = [...Map.groupBy(slots, (slot) => slot.pack)].map(([tool, mine]): ToolStats => ({
      tool,
      ...figures(mine),
    }));
    tools.sort((a, b) => b.total_calls - a.total_calls || (a.tool < b.tool ? -1 : 1));
    return { ...figures(slots), tools };
  }

  async series(query: StatsQuery & { bucketMs: number }): Promise<Series[]> {
    const size = Math.max(query.bucketMs, slotMs);
    const slots = await this.#read(query);
    const buckets = Map.groupBy(slots, (slot) => Math.floor(slot.slot / size) * size);
    return [...buckets]
      .sort(([a], [b]) => a - b)
      .map(([at, mine]) => {
        const calls = mine.filter((slot) => slot.name !== 'run');
        const durations = calls.reduce((all, slot) => merge(all, slot.durations), new Map() as Histogram);
        return {
          at: new Date(at).toISOString(),
          calls: sum(calls, 'calls'),
          failures: sum(calls, 'failures'),
          p50Ms: quantile(durations, 0.5),
          p95Ms: quantile(durations, 0.95),
          tokensSpent: Math.round(sum(mine, 'spent_bytes') / bytesPerToken),
          resultBytes: sum(calls, 'result_bytes'),
        };
      });
  }

  /** The same figures by tool, token or project, most calls first. */
  async groups(
    query: StatsQuery,
    by: 'tool' | 'token' | 'project',
  ): Promise<
    { name: string; total_calls: number; error_count: number; avg_duration_ms: number; result_bytes: number }[]
  > {
    const column = ({ tool: 'pack', token: 'token_id', project: 'project_id' } as const)[by];
    const slots = (await this.#read(query)).filter((slot) => slot.name !== 'run');
    return [...Map.groupBy(slots, (slot) => slot[column])]
      .map(([name, mine]) => {
        const { total_calls, error_count, avg_duration_ms } = figures(mine);
        return {
          name: name || '(none)',
          total_calls,
          error_count,
          avg_duration_ms,
          result_bytes: sum(mine, 'result_bytes'),
        };
      })
      .sort((a, b) => b.total_calls - a.total_calls || (a.name < b.name ? -1 : 1));
  }

  /** Puts old slots together by the hour. */
  async tidy(now = Date.now()): Promise<void> {
    const before = Math.floor((now - fineForMs) / hourMs) * hourMs;
    await this.#db.write((db) => {
      const rows = db.all<Row>('SELECT * FROM stat_slots WHERE slot < ? AND slot % ? <> 0 LIMIT 2000', before, hourMs);
      for (const row of rows) {
        db.run(
          'DELETE FROM stat_slots WHERE slot = ? AND name = ? AND principal = ? AND token_id = ? AND project_id = ?',
          row.slot,
          row.name,
          row.principal,
          row.token_id,
          row.project_id,
        );
        addUp(db, { ...slotOf(row), slot: Math.floor(row.slot / hourMs) * hourMs });
      }
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#tidying);
    await this.#behind.flush();
  }

  async #read({ period, tool, reach }: StatsQuery): Promise<Slot[]> {
    await this.#behind.flush();
    const since = period === 'all' ? 0 : Math.floor((Date.now() - periods[period]) / slotMs) * slotMs;
    const rows = this.#db.all<Row>('SELECT * FROM stat_slots WHERE slot >= ?', since);
    return rows
      .filter((row) => (tool === undefined || row.pack === tool || row.name === tool) && isInReach(row, reach))
      .map(slotOf);
  }

  async #write(): Promise<void> {
    const taken = this.#fresh;
    if (taken.size === 0) return;
    this.#fresh = new Map();
    try {
      await this.#db.write((db) => taken.forEach((slot) => addUp(db, slot)));
    } catch (error) {
      for (const [key, slot] of taken) this.#fresh.set(key, together(this.#fresh.get(key), slot));
      this.#behind.soon();
      throw error;
    }
  }
}

const emptySlot = (slot: number, record: CallRecord): Slot => ({
  slot,
  name: record.name,
  pack: record.pack,
  bundle: record.bundleSlug,
  principal: record.principal,
  token_id: record.tokenId ?? '',
  project_id: record.projectId ?? '',
  calls: 0,
  failures: 0,
  duration_ms: 0,
  result_bytes: 0,
  spent_bytes: 0,
  durations: new Map(),
});

const slotOf = (row: Row): Slot => ({ ...row, durations: fromText(row.durations) });

function addUp(db: Database, slot: Slot): void {
  const { slot: at, name, principal, token_id, project_id } = slot;
  const row = db.get<Row>(
    'SELECT * FROM stat_slots WHERE slot = ? AND name = ? AND principal = ? AND token_id = ? AND project_id = ?',
    at,
    name,
    principal,
    token_id,
    project_id,
  );
  const all = together(row && slotOf(row), slot);
  db.run(
    `INSERT OR REPLACE INTO stat_slots VALUES (?${', ?'.repeat(12)})`,
    at,
    name,
    all.pack,
    all.bundle,
    principal,
    token_id,
    project_id,
    all.calls,
    all.failures,
    all.duration_ms,
    all.result_bytes,
    all.spent_bytes,
    toText(all.durations),
  );
}

function together(a: Slot | undefined, b: Slot): Slot {
  if (!a) return b;
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

function isInReach(row: Row, reach: Reach | undefined): boolean {
  if (!reach) return true;
  if (reach.bundles && !reach.bundles.includes(row.bundle)) return false;
  if (reach.projects && reach.projects.includes(row.project_id)) return true;
  return (reach.projects === undefined && reach.principal === undefined) || row.principal === reach.principal;
}

type Summed = 'calls' | 'failures' | 'duration_ms' | 'result_bytes' | 'spent_bytes';
const sum = (slots: readonly Slot[], field: Summed): number => slots.reduce((total, slot) => total + slot[field], 0);

/** Counts, the share of successes in percent, and the average duration. */
function figures(slots: readonly Slot[]): Omit<ToolStats, 'tool'> {
  const total_calls = sum(slots, 'calls');
  const error_count = sum(slots, 'failures');
  const success_count = total_calls - error_count;
  const share = (part: number): number => (total_calls === 0 ? 0 : Math.round((part / total_calls) * 100) / 100);
  return {
    total_calls,
    success_count,
    error_count,
    success_rate: total_calls === 0 ? 0 : Math.round((success_count / total_calls) * 10_000) / 100,
    avg_duration_ms: share(sum(slots, 'duration_ms')),
  };
}
