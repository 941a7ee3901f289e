import type { CallRecord } from '../schema/index.ts';
import type { Database } from '../store/index.ts';
import { Behind } from './behind.ts';
import { bucketOf, count, fromText, merge, quantile, type Histogram } from './histogram.ts';
import type { Reach, Series, Stats, StatsQuery, ToolStats } from './observer.ts';
import type { Run } from './runs.ts';
import { slotMs, StatRows, together, type Slot, type SlotRow } from './stat-rows.ts';

const writeAfterMs = 500;
const hourMs = 3600_000;
const tidyEveryMs = hourMs;
/** The first tidying comes early, for servers that never run for an hour. */
const firstTidyMs = 60_000;
const periods = { day: 24 * hourMs, week: 7 * 24 * hourMs, month: 30 * 24 * hourMs, all: Infinity };
const bytesPerToken = 4;

/** Calls added up per five minutes, tool and asker, later per hour and per day: small enough to keep, fine enough for charts. */
export class StatSlots {
  readonly #rows: StatRows;
  readonly #behind: Behind;
  readonly #timers: NodeJS.Timeout[];
  #fresh = new Map<string, Slot>();

  private constructor(rows: StatRows, onError: (error: unknown) => void) {
    this.#rows = rows;
    this.#behind = new Behind(writeAfterMs, () => this.#write(), onError);
    const tidy = (): void => void this.tidy().catch(onError);
    this.#timers = [setTimeout(tidy, firstTidyMs), setInterval(tidy, tidyEveryMs)];
    for (const timer of this.#timers) timer.unref();
  }

  static async open(db: Database, onError: (error: unknown) => void): Promise<StatSlots> {
    return new StatSlots(await StatRows.open(db), onError);
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
    const all = noCalls();
    const byTool = new Map<string, Sums>();
    for await (const rows of this.#read(query))
      for (const row of rows) {
        if (row.name === 'run') continue;
        add(all, row);
        add(sumsOf(byTool, row.pack), row);
      }
    const tools = [...byTool].map(([tool, mine]): ToolStats => ({ tool, ...figures(mine) }));
    tools.sort((a, b) => b.total_calls - a.total_calls || (a.tool < b.tool ? -1 : 1));
    return { ...figures(all), tools };
  }

  async series(query: StatsQuery & { bucketMs: number }): Promise<Series[]> {
    const size = Math.max(query.bucketMs, slotMs);
    const buckets = new Map<number, { calls: Sums; spentBytes: number; durations: Histogram }>();
    for await (const rows of this.#read(query))
      for (const row of rows) {
        const at = Math.floor(row.slot / size) * size;
        let bucket = buckets.get(at);
        if (!bucket) buckets.set(at, (bucket = { calls: noCalls(), spentBytes: 0, durations: new Map() }));
        bucket.spentBytes += row.spent_bytes;
        if (row.name === 'run') continue;
        add(bucket.calls, row);
        merge(bucket.durations, fromText(row.durations));
      }
    return [...buckets]
      .sort(([a], [b]) => a - b)
      .map(([at, { calls, spentBytes, durations }]) => ({
        at: new Date(at).toISOString(),
        calls: calls.calls,
        failures: calls.failures,
        p50Ms: quantile(durations, 0.5),
        p95Ms: quantile(durations, 0.95),
        tokensSpent: Math.round(spentBytes / bytesPerToken),
        resultBytes: calls.result_bytes,
      }));
  }

  /** The same figures by tool, token or project, most calls first. */
  async groups(
    query: StatsQuery,
    by: 'tool' | 'token' | 'project',
  ): Promise<
    { name: string; total_calls: number; error_count: number; avg_duration_ms: number; result_bytes: number }[]
  > {
    const column = ({ tool: 'pack', token: 'token_id', project: 'project_id' } as const)[by];
    const groups = new Map<string, Sums>();
    for await (const rows of this.#read(query))
      for (const row of rows) if (row.name !== 'run') add(sumsOf(groups, row[column]), row);
    return [...groups]
      .map(([name, mine]) => {
        const { total_calls, error_count, avg_duration_ms } = figures(mine);
        return { name: name || '(none)', total_calls, error_count, avg_duration_ms, result_bytes: mine.result_bytes };
      })
      .sort((a, b) => b.total_calls - a.total_calls || (a.name < b.name ? -1 : 1));
  }

  /** Merges old slots into hours and days. */
  tidy(now?: number): Promise<void> {
    return this.#rows.tidy(now);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#behind.flush();
    await this.#rows.close();
  }

  /** Rows in portions. `run` is among them; those who count calls skip it, since its inner calls are counted. */
  async *#read({ period, tool, reach }: StatsQuery): AsyncGenerator<SlotRow[], void, void> {
    await this.#behind.flush();
    const since = period === 'all' ? 0 : Math.floor((Date.now() - periods[period]) / slotMs) * slotMs;
    for await (const rows of this.#rows.since(since))
      yield rows.filter(
        (row) => (tool === undefined || row.pack === tool || row.name === tool) && isInReach(row, reach),
      );
  }

  async #write(): Promise<void> {
    const taken = this.#fresh;
    if (taken.size === 0) return;
    this.#fresh = new Map();
    try {
      await this.#rows.add(taken.values());
    } catch (error) {
      for (const [key, slot] of taken) {
        const newer = this.#fresh.get(key);
        this.#fresh.set(key, newer ? together(newer, slot) : slot);
      }
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
  ...noCalls(),
  spent_bytes: 0,
  durations: new Map(),
});

function isInReach(row: SlotRow, reach: Reach | undefined): boolean {
  if (!reach) return true;
  if (reach.bundles && !reach.bundles.includes(row.bundle)) return false;
  if (reach.projects && reach.projects.includes(row.project_id)) return true;
  return (reach.projects === undefined && reach.principal === undefined) || row.principal === reach.principal;
}

type Sums = Pick<Slot, 'calls' | 'failures' | 'duration_ms' | 'result_bytes'>;

const noCalls = (): Sums => ({ calls: 0, failures: 0, duration_ms: 0, result_bytes: 0 });

function sumsOf(groups: Map<string, Sums>, name: string): Sums {
  let sums = groups.get(name);
  if (!sums) groups.set(name, (sums = noCalls()));
  return sums;
}

function add(sums: Sums, more: Sums): void {
  sums.calls += more.calls;
  sums.failures += more.failures;
  sums.duration_ms += more.duration_ms;
  sums.result_bytes += more.result_bytes;
}

/** Counts, the share of successes in percent, and the average duration. */
function figures({ calls, failures, duration_ms }: Sums): Omit<ToolStats, 'tool'> {
  const success_count = calls - failures;
  return {
    total_calls: calls,
    success_count,
    error_count: failures,
    success_rate: calls === 0 ? 0 : Math.round((success_count / calls) * 10_000) / 100,
    avg_duration_ms: calls === 0 ? 0 : Math.round((duration_ms / calls) * 100) / 100,
  };
}
