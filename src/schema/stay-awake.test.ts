import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { cameIn, stayAwake } from './stay-awake.ts';

const isAwake = (): boolean => process.getActiveResourcesInfo().includes('Immediate');
const canBe = availableParallelism() > 1;
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** However long a busy machine keeps this process from its next turn. */
async function asleep(): Promise<void> {
  for (let i = 0; i === 0 || isAwake(); i++) {
    assert.ok(i < 1000, 'never sleeps');
    await later(2);
  }
}

test('the event loop looks out for a moment, serves what comes meanwhile, and then sleeps', async () => {
  stayAwake();
  assert.equal(isAwake(), canBe);
  await asleep();
});

test('what comes in while it looks out is a reason to look out again, however long the answer takes', async () => {
  for (let i = 0; i < 64; i++) {
    stayAwake();
    assert.equal(isAwake(), canBe);
    cameIn();
    await asleep();
  }
});

test('where nothing comes in time it is tried only now and then, until something does', async () => {
  const tries = async (times: number): Promise<number> => {
    let awake = 0;
    for (let i = 0; i < times; i++) {
      stayAwake();
      if (isAwake()) awake++;
      await asleep();
    }
    return awake;
  };
  await tries(10);
  const rare = await tries(64);
  assert.ok(rare <= 4, `${rare} of 64`);
  assert.equal(rare > 0, canBe);
  // Something was sent while it still looked out: there was an answer.
  while (canBe && !isAwake()) {
    stayAwake();
    if (!isAwake()) await later(1);
  }
  stayAwake();
  await asleep();
  stayAwake();
  assert.equal(isAwake(), canBe);
});
