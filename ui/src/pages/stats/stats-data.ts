export interface SeriesPoint {
  at: string;
  calls: number;
  failures: number;
  p50_ms: number;
  p95_ms: number;
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
