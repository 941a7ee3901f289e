import { setTimeout as sleep } from 'node:timers/promises';

const worthRetrying = new Set([408, 425, 429]);
const firstWaitMs = 200;
const longestWaitMs = 5_000;

/** True for answers that another try may change. */
export function isTransient(status: number): boolean {
  return worthRetrying.has(status) || status >= 500;
}

/** How long to wait before the next try: what the server asked for, else exponential with jitter. */
export function waitMs(tried: number, retryAfter: string | string[] | undefined, now = Date.now()): number {
  const asked = retryAfter === undefined ? undefined : parseRetryAfter(String(retryAfter), now);
  if (asked !== undefined) return asked;
  const base = Math.min(firstWaitMs * 2 ** (tried - 1), longestWaitMs);
  return base / 2 + Math.random() * (base / 2);
}

/** Seconds or a date; undefined when it is neither. */
export function parseRetryAfter(text: string, now: number): number | undefined {
  if (/^\s*\d{1,9}\s*$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** Waits; false when that would take longer than there is time. Rejects with the signal's reason. */
export async function waitWithin(ms: number, deadline: number, signal: AbortSignal): Promise<boolean> {
  if (performance.now() + ms >= deadline) return false;
  await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
  return true;
}
