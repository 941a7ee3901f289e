import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './rest-fuzz.chaos.ts';

test('hostile requests are refused by name, and the server goes on', async () => {
  const { counted, violations } = await chaos(1500);
  assert.deepEqual(violations, []);
  assert.equal(counted['requests'], 1500);
  assert.ok(counted['refused']! > 1000 && counted['accepted']! > 10, JSON.stringify(counted));
});
