import { collectDefaultMetrics, Counter, Registry, type Metric } from 'prom-client';
import { bucketEnds, type Counted } from './metrics.ts';

const durationsName = 'oubliette_call_duration_seconds';

/** What Prometheus scrapes, computed from our own counts each time it asks. */
export function openFigures(counted: () => Counted[], problems: () => number): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });
  new Counter({
    name: 'oubliette_calls_total',
    help: 'Calls that passed the gate or were refused there.',
    labelNames: ['tool', 'outcome', 'door'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { tool, outcome, door, calls } of counted()) this.inc({ tool, outcome, door }, calls);
    },
  });
  // The library's histogram only takes single durations; anything with a `get` like its own can be registered.
  const durations = { name: durationsName, get: () => Promise.resolve(histogram(counted())) };
  registry.registerMetric(durations as unknown as Metric);
  new Counter({
    name: 'oubliette_record_failures_total',
    help: 'Records of calls that could not be written.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(problems());
    },
  });
  return registry;
}

function histogram(all: Counted[]): object {
  const groups = Map.groupBy(all, ({ tool, outcome }) => `${outcome === 'ok' ? 'ok' : 'error'} ${tool}`);
  const values = [...groups.values()].flatMap((group) => {
    const labels = { tool: group[0]!.tool, outcome: group[0]!.outcome === 'ok' ? 'ok' : 'error' };
    const upTo = (end: number): number =>
      group.reduce((sum, { buckets }) => sum + buckets.slice(0, end + 1).reduce((a, b) => a + b, 0), 0);
    const calls = group.reduce((sum, each) => sum + each.calls, 0);
    const seconds = group.reduce((sum, each) => sum + each.seconds, 0);
    return [
      ...bucketEnds.map((le, i) => ({
        labels: { le, ...labels },
        value: upTo(i),
        metricName: `${durationsName}_bucket`,
      })),
      { labels: { le: '+Inf', ...labels }, value: calls, metricName: `${durationsName}_bucket` },
      { labels, value: seconds, metricName: `${durationsName}_sum` },
      { labels, value: calls, metricName: `${durationsName}_count` },
    ];
  });
  return { name: durationsName, help: 'How long calls took.', type: 'histogram', values, aggregator: 'sum' };
}
