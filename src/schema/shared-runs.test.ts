import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedRuns } from './shared-runs.ts';

/** Runs that end when they are told to; each answers its number. */
function toldRuns() {
  const ends: { resolve: (value: number) => void; reject: (error: Error) => void }[] = [];
  const runs = new SharedRuns(() => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    ends.push({ resolve, reject });
    return promise;
  });
  return { runs, ends };
}

test('whoever asks while a run is under way shares the next one, which begins when that is over', async () => {
  const { runs, ends } = toldRuns();
  const first = runs.run();
  const later = [runs.run(), runs.run(), runs.run()];
  assert.equal(ends.length, 1);
  ends[0]!.resolve(1);
  assert.equal(await first, 1);
  assert.equal(ends.length, 2);
  ends[1]!.resolve(2);
  assert.deepEqual(await Promise.all(later), [2, 2, 2]);
  const last = runs.run();
  ends[2]!.resolve(3);
  assert.equal(await last, 3);
});

test('at no moment are two runs under way', async () => {
  let underWay = 0;
  const runs = new SharedRuns(async () => {
    assert.equal(++underWay, 1);
    await Promise.resolve();
    underWay--;
  });
  const asking = async (): Promise<void> => {
    for (let n = 0; n < 20; n++) await runs.run();
  };
  await Promise.all([asking(), asking(), asking(), asking()]);
});

test('a run that fails fails for those who share it, and the next one begins', async () => {
  const { runs, ends } = toldRuns();
  const first = runs.run();
  const second = runs.run();
  ends[0]!.reject(new Error('broken'));
  await assert.rejects(first, /broken/);
  ends[1]!.resolve(2);
  assert.equal(await second, 2);
});

test('idle waits for what is under way, however it ends', async () => {
  const { runs, ends } = toldRuns();
  await runs.idle();
  const failing = runs.run().catch(() => 'failed');
  let isIdle = false;
  const idle = runs.idle().then(() => (isIdle = true));
  await Promise.resolve();
  assert.equal(isIdle, false);
  ends[0]!.reject(new Error('broken'));
  await idle;
  assert.equal(await failing, 'failed');
});
