import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Stragglers } from './stragglers.ts';

interface Work {
  beganAt: number;
}
const begin = (): Work => ({ beganAt: performance.now() });

test('only what still goes on is prepared for taking long, once, and not before its time', async () => {
  const prepared: { work: Work; afterMs: number }[] = [];
  const stragglers = new Stragglers<Work>(20, (work) => {
    prepared.push({ work, afterMs: performance.now() - work.beganAt });
  });
  const [quick, slow] = [begin(), begin()];
  stragglers.add(quick);
  stragglers.add(slow);
  stragglers.drop(quick);
  // Begun in the middle of the first one's time.
  await new Promise((resolve) => setTimeout(resolve, 12));
  const later = begin();
  stragglers.add(later);
  const lateButOver = begin();
  stragglers.add(lateButOver);
  setTimeout(() => stragglers.drop(lateButOver), 14);
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.deepEqual(
    prepared.map(({ work }) => work),
    [slow, later],
  );
  for (const { afterMs } of prepared) assert.ok(afterMs >= 19, `after ${afterMs} ms`);
});

test('after a pause what begins anew is looked after again', async () => {
  const prepared: Work[] = [];
  const stragglers = new Stragglers<Work>(5, (work) => prepared.push(work));
  for (let round = 0; round < 3; round++) {
    const quick = begin();
    stragglers.add(quick);
    stragglers.drop(quick);
    const slow = begin();
    stragglers.add(slow);
    while (prepared.at(-1) !== slow) await new Promise((resolve) => setTimeout(resolve, 2));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(prepared.length, 3);
});
