import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './programs.chaos.ts';

test('hostile programs end by name, and another token is served meanwhile', async () => {
  const { counted, violations } = await chaos(240);
  assert.deepEqual(violations, []);
  assert.equal(counted['programs'], 240);
  assert.equal(counted['served'], 30);
  assert.ok(counted['failed']! > 50 && counted['answered']! > 5, JSON.stringify(counted));
});
