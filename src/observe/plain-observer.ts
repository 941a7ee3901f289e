import { createHmac } from 'node:crypto';
import type { Observer } from './observer.ts';

export function plainObserver(key: Buffer): Observer {
  const quiet = () => {};
  return {
    log: { debug: quiet, info: quiet, warn: quiet, error: (fields) => console.error(fields) },
    span: (_, fields, run) => run(fields),
    record: async () => {},
    usage: () => ({ callCount: 0, failureCount: 0 }),
    stats: async () => ({ total_calls: 0, success_rate: 0, success_count: 0, error_count: 0, avg_duration_ms: 0, tools: [] }),
    series: async () => [],
    verifyAudit: async () => ({ ok: true, rows: 0 }),
    auditRows: async () => [],
    metricsText: async () => '',
    hmac: (text) => createHmac('sha256', key).update(text).digest('hex'),
    close: async () => {},
  };
}

