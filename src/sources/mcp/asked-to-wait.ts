import { parseRetryAfter } from '../http/index.ts';

/** Nobody is told to wait longer, whatever a server says. */
const longestMs = 3600_000;

/** A server has done nothing, and said how long it wants to be left alone. */
export class AskedToWait extends Error {
  readonly waitMs: number;
  constructor(status: number, waitMs: number) {
    super(`it answered ${status} and asks to wait ${secondsOf(waitMs)} s`);
    this.waitMs = waitMs;
  }
}

export const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

type Fetch = typeof globalThis.fetch;

/** A `fetch` that tells of every `Retry-After`; a message that was refused with one fails as AskedToWait. */
export function heedfulFetch(fetch: Fetch, told: (waitMs: number) => void): Fetch {
  return async (input, init) => {
    const answer = await fetch(input, init);
    const waitMs = wishOf(answer);
    if (waitMs === undefined) return answer;
    told(waitMs);
    // Streams have a back-off of their own.
    if (init?.method !== 'POST') return answer;
    await answer.body?.cancel().catch(() => {});
    throw new AskedToWait(answer.status, waitMs);
  };
}

function wishOf({ status, headers }: Response): number | undefined {
  const wish = status === 429 || status === 503 ? headers.get('retry-after') : null;
  const ms = wish === null ? undefined : parseRetryAfter(wish, Date.now());
  return ms === undefined ? undefined : Math.min(ms, longestMs);
}
