import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition and answers what it found; fails with the text of the condition when it does not come true in time. */
export async function until<T>(look: () => T | Promise<T>, timeoutMs = 10_000): Promise<NonNullable<T>> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > giveUpAt) throw new Error(`did not come true within ${timeoutMs} ms: ${look.toString()}`);
    await sleep(20);
  }
}
