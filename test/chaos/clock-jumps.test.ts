import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './clock-jumps.chaos.ts';

test('a clock that is set ahead and back ends no program, prolongs no limit, and keeps no server away', async () => {
  const { counted, violations } = await chaos(3);
  assert.deepEqual(violations, []);
  assert.equal(counted['jumps'], 3);
});
