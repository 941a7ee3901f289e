import type { Registry } from 'prom-client';
import type { CallRecord } from '../schema/index.ts';
import type { Run } from './runs.ts';

const maxTools = 1000;
/** Upper ends of the buckets of durations, in seconds. */
export const bucketEnds = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

/** Calls of one tool with the same outcome. */
export interface Counted {
  tool: string;
  outcome: CallRecord['outcome'];
  door: CallRecord['door'];
  calls: number;
  seconds: number;
  /** How many fell into each bucket; the unbounded one is last. */
  buckets: number[];
}

/** Figures for Prometheus: calls by tool and outcome, their durations, and how the process is. */
export class Metrics {
  readonly #counted = new Map<string, Counted>();
  readonly #tools = new Set<string>();
  #problems = 0;
  #registry: Promise<Registry> | undefined;

  add({ like: { name, outcome, door }, durationsMs }: Run): void {
    const tool = this.#label(name);
    const key = `${tool} ${outcome} ${door}`;
    let counted = this.#counted.get(key);
    if (!counted) this.#counted.set(key, (counted = { tool, outcome, door, calls: 0, seconds: 0, buckets: noneYet() }));
    counted.calls += durationsMs.length;
    for (const ms of durationsMs) {
      const seconds = ms / 1000;
      counted.seconds += seconds;
      let bucket = 0;
      while (bucket < bucketEnds.length && seconds > bucketEnds[bucket]!) bucket++;
      counted.buckets[bucket]!++;
    }
  }

  problem(): void {
    this.#problems++;
  }

  /** Loads the library at the first question: most servers are never asked. */
  async text(): Promise<string> {
    this.#registry ??= import('./figures.ts').then(({ openFigures }) =>
      openFigures(
        () => [...this.#counted.values()],
        () => this.#problems,
      ),
    );
    return (await this.#registry).metrics();
  }

  close(): void {
    this.#registry?.then((registry) => registry.clear()).catch(() => {});
  }

  /** A label per tool, up to a number that monitoring can bear. */
  #label(name: string): string {
    if (this.#tools.has(name)) return name;
    if (this.#tools.size >= maxTools) return 'other';
    this.#tools.add(name);
    return name;
  }
}

const noneYet = (): number[] => Array.from({ length: bucketEnds.length + 1 }, () => 0);
