import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './killed-writes.chaos.ts';

test('a server killed in the middle of writes loses nothing that it acknowledged', async () => {
  const { counted, violations } = await chaos(5);
  assert.deepEqual(violations, []);
  assert.equal(counted['kills'], 5);
  assert.ok(counted['acknowledged']! > 20, `only ${counted['acknowledged']} writes were acknowledged`);
});
