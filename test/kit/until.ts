import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 20;

/**
 * Waits for a condition and answers what it found; fails with the text of the condition when it does not come true in
 * time. The time is counted in pauses, not read from the clock: on a busy machine, where everything takes longer, it is
 * waited for longer.
 */
export async function until<T>(look: () => T | Promise<T>, timeoutMs = 30_000): Promise<NonNullable<T>> {
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    const seen = await look();
    if (seen) return seen;
    if (waitedMs >= timeoutMs) throw new Error(`did not come true within ${timeoutMs} ms: ${look.toString()}`);
    await sleep(pauseMs);
  }
}
