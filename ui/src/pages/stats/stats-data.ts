export interface SeriesPoint {
  at: string;
  calls: number;
  failures: number;
  /** Null where nothing was called: a gap, not a zero. */
  p50_ms: number | null;
  p95_ms: number | null;
  tokens_saved: number;
  tokens_spent: number;
  result_bytes: number;
}

export interface Group {
  name: string;
  label?: string;
  total_calls: number;
  error_count: number;
  avg_duration_ms: number;
  result_bytes: number;
}

export interface StatsAnswer {
  total_calls: number;
  success_rate: number;
  error_count: number;
  avg_duration_ms: number;
  tokens_saved: number;
  tokens_spent: number;
  result_bytes: number;
  bucket_ms: number;
  series: SeriesPoint[];
  groups: Group[];
}

const periodMs = { day: 86_400_000, week: 7 * 86_400_000, month: 30 * 86_400_000 };
const mostBuckets = 400;

/** The series with its empty stretches filled in, over the whole period, so that charts keep their scale. */
export function filledSeries(
  series: SeriesPoint[],
  bucketMs: number,
  period: 'day' | 'week' | 'month' | 'all',
  now = Date.now(),
): SeriesPoint[] {
  const slot = (at: number): number => Math.floor(at / bucketMs) * bucketMs;
  const known = new Map(series.map((point) => [slot(new Date(point.at).getTime()), point]));
  const last = slot(now);
  const first =
    period === 'all' ? Math.min(last - 7 * bucketMs, ...known.keys()) : slot(now - periodMs[period]) + bucketMs;
  const step = bucketMs * Math.max(1, Math.ceil((last - first) / bucketMs / mostBuckets));
  if (step > bucketMs) return series;
  return Array.from({ length: (last - first) / step + 1 }, (_, index) => {
    const at = first + index * step;
    return (
      known.get(at) ?? {
        at: new Date(at).toISOString(),
        calls: 0,
        failures: 0,
        p50_ms: null,
        p95_ms: null,
        tokens_saved: 0,
        tokens_spent: 0,
        result_bytes: 0,
      }
    );
  });
}

/** Rows as CSV with a heading; a cell that a spreadsheet would take for a formula is quoted as text. */
export function asCsv(rows: readonly object[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown): string => {
    const text = value === undefined || value === null ? '' : String(value);
    const safe = /^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [names, ...rows.map((row) => names.map((name) => (row as Record<string, unknown>)[name]))]
    .map((line) => line.map(cell).join(','))
    .join('\r\n');
}
