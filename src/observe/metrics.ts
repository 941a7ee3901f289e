import type { CallRecord } from '../schema/index.ts';
import type { Figures } from './figures.ts';

const maxTools = 1000;

/** Figures for Prometheus: calls by tool and outcome, their durations, and how the process is. */
export class Metrics {
  readonly #tools = new Set<string>();
  #figures: Figures | undefined;
  #opening: Promise<Figures> | undefined;
  /** What came before the library was loaded, which the first of it begins: an idle server does without. */
  readonly #earlyCalls: CallRecord[] = [];
  #earlyProblems = 0;

  call(record: CallRecord): void {
    if (this.#figures) return this.#count(this.#figures, record);
    this.#earlyCalls.push(record);
    this.#open().catch(() => {});
  }

  problem(): void {
    if (this.#figures) this.#figures.problems.inc();
    else this.#earlyProblems++;
  }

  async text(): Promise<string> {
    return (await this.#open()).registry.metrics();
  }

  close(): void {
    this.#figures?.registry.clear();
  }

  #open(): Promise<Figures> {
    return (this.#opening ??= openFigures().then((figures) => {
      this.#figures = figures;
      for (const record of this.#earlyCalls.splice(0)) this.#count(figures, record);
      figures.problems.inc(this.#earlyProblems);
      return figures;
    }));
  }

  #count({ calls, durations }: Figures, record: CallRecord): void {
    const tool = this.#label(record.name);
    calls.inc({ tool, outcome: record.outcome, door: record.door });
    durations.observe({ tool, outcome: record.outcome === 'ok' ? 'ok' : 'error' }, record.durationMs / 1000);
  }

  /** A label per tool, up to a number that monitoring can bear. */
  #label(name: string): string {
    if (this.#tools.has(name)) return name;
    if (this.#tools.size >= maxTools) return 'other';
    this.#tools.add(name);
    return name;
  }
}

async function openFigures(): Promise<Figures> {
  return (await import('./figures.ts')).openFigures();
}
