import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from './deadline.ts';

test('a call that may take longer than any timer can wait is not ended at once', async () => {
  const deadline = new Deadline('demo_foo', 2 ** 31 + 1000, undefined);
  assert.equal(await deadline.race(sleep(60, 'answered')), 'answered');
  deadline.end();
});
