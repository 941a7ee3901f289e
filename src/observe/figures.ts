import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';

export interface Figures {
  registry: Registry;
  calls: Counter;
  durations: Histogram;
  problems: Counter;
}

/** What Prometheus is told. */
export function openFigures(): Figures {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });
  return {
    registry,
    calls: new Counter({
      name: 'oubliette_calls_total',
      help: 'Calls that passed the gate or were refused there.',
      labelNames: ['tool', 'outcome', 'door'],
      registers: [registry],
    }),
    durations: new Histogram({
      name: 'oubliette_call_duration_seconds',
      help: 'How long calls took.',
      labelNames: ['tool', 'outcome'],
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
      registers: [registry],
    }),
    problems: new Counter({
      name: 'oubliette_record_failures_total',
      help: 'Records of calls that could not be written.',
      registers: [registry],
    }),
  };
}
