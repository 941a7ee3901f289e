import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import type { CallRecord } from '../schema/index.ts';

const maxTools = 1000;

/** Figures for Prometheus: calls by tool and outcome, their durations, and how the process is. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #tools = new Set<string>();
  readonly #calls = new Counter({
    name: 'oubliette_calls_total',
    help: 'Calls that passed the gate or were refused there.',
    labelNames: ['tool', 'outcome', 'door'],
    registers: [this.#registry],
  });
  readonly #durations = new Histogram({
    name: 'oubliette_call_duration_seconds',
    help: 'How long calls took.',
    labelNames: ['tool', 'outcome'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [this.#registry],
  });
  readonly #problems = new Counter({
    name: 'oubliette_record_failures_total',
    help: 'Records of calls that could not be written.',
    registers: [this.#registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: 20 });
  }

  call(record: CallRecord): void {
    const tool = this.#label(record.name);
    this.#calls.inc({ tool, outcome: record.outcome, door: record.door });
    this.#durations.observe({ tool, outcome: record.outcome === 'ok' ? 'ok' : 'error' }, record.durationMs / 1000);
  }

  problem(): void {
    this.#problems.inc();
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  close(): void {
    this.#registry.clear();
  }

  /** A label per tool, up to a number that monitoring can bear. */
  #label(name: string): string {
    if (this.#tools.has(name)) return name;
    if (this.#tools.size >= maxTools) return 'other';
    this.#tools.add(name);
    return name;
  }
}
