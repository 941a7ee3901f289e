import type { CallRecord } from '../schema/index.ts';
import type { AuditQuery } from './audit-chain.ts';

export interface Logger {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
}

/** Who may see which records: absent means all. With projects: what happened in them, and what the principal did itself. */
export interface Reach {
  principal?: string;
  projects?: readonly string[];
  bundles?: readonly string[];
}

export interface StatsQuery {
  period: 'day' | 'week' | 'month' | 'all';
  /** `demo.foo` or `demo_foo`. */
  tool?: string;
  reach?: Reach;
}

/** `success_rate` is in percent. */
export interface ToolStats {
  tool: string;
  total_calls: number;
  success_count: number;
  error_count: number;
  success_rate: number;
  avg_duration_ms: number;
}

export interface Stats {
  total_calls: number;
  success_rate: number;
  success_count: number;
  error_count: number;
  avg_duration_ms: number;
  tools: ToolStats[];
}

/** One point of a chart. */
export interface Series {
  at: string;
  calls: number;
  failures: number;
  p50Ms: number;
  p95Ms: number;
  tokensSpent: number;
  resultBytes: number;
}

export interface Usage {
  callCount: number;
  failureCount: number;
  lastCalledAt?: string;
  p50Ms?: number;
}

/** Logs, spans, stats, audit, metrics: what happened, to whom, how long. */
export interface Observer {
  log: Logger;
  /** Logs `span` with status and durationMs when `run` settles; fields may be added while it runs. */
  span<T>(
    name: string,
    fields: Record<string, unknown>,
    run: (fields: Record<string, unknown>) => Promise<T>,
  ): Promise<T>;
  /**
   * Takes one call into usage, stats, metrics and audit. Resolves when the audit row is on disk for write and
   * admin calls; reads, and what says `isBehind`, are written behind. Never rejects because of a full queue.
   */
  record(record: CallRecord, isBehind?: boolean): Promise<void>;
  /** Every log line passes this before it is written: secrets are hidden everywhere. */
  setRedactor(redact: (line: string) => string): void;
  /** Counters by tool id; cheap, from memory. */
  usage(toolId: string): Usage;
  /** Forgets the counters of tools that are gone and were not called for a month. */
  forgetGone(isThere: (toolId: string) => boolean): Promise<void>;
  stats(query: StatsQuery): Promise<Stats>;
  /** Series for charts: one point per bucket of at least five minutes; empty ones are left out. */
  series(query: StatsQuery & { bucketMs: number }): Promise<Series[]>;
  /** Figures by tool, token or project, most calls first. */
  groups(
    query: StatsQuery,
    by: 'tool' | 'token' | 'project',
  ): Promise<
    { name: string; total_calls: number; error_count: number; avg_duration_ms: number; result_bytes: number }[]
  >;
  /** Checks the hash chain; answers the first broken row if there is one. */
  verifyAudit(): Promise<{ ok: boolean; rows: number; brokenAt?: number }>;
  /** Removes rows of calls that began before this time; what is left can still be verified. */
  pruneAudit(before: string): Promise<{ deleted: number }>;
  auditRows(query: AuditQuery): Promise<Record<string, unknown>[]>;
  metricsText(): Promise<string>;
  close(): Promise<void>;
}
