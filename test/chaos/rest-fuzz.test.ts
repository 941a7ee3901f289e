import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './rest-fuzz.chaos.ts';

test('hostile requests are refused by name, and the server goes on', async () => {
  const { counted, violations } = await chaos(1500);
  assert.deepEqual(violations, []);
  assert.equal(counted['requests'], 1500);
  assert.ok(counted['refused']! > 200 && counted['accepted']! > 50, JSON.stringify(counted));
});
