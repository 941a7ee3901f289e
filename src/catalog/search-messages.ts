import type { SearchDoc, SearchOptions } from './search.ts';

export interface SearchWorkerData {
  path: string;
}

/** What the main thread asks of the worker; answered in order, so a query sees every put before it. */
export type Request =
  | { kind: 'query'; text: string; options?: SearchOptions }
  | { kind: 'rank'; text: string; options?: SearchOptions }
  | { kind: 'put'; docs: readonly SearchDoc[] }
  | { kind: 'remove'; ids: readonly string[] }
  | { kind: 'sum' }
  | { kind: 'compare'; ids: string[]; stamps: Uint32Array }
  | { kind: 'compared' }
  | { kind: 'settle' }
  | { kind: 'close' };
export type Ask = Request & { number: number };

export interface Answer {
  number?: number;
  value?: unknown;
  error?: string;
  problem?: string;
  isReady?: { count: number };
}
