import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition; fails with its text when it does not come true in time. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 5000): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`did not come true within ${timeoutMs} ms: ${condition.toString()}`);
    await sleep(20);
  }
}
