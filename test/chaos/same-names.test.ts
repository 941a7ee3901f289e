import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './same-names.chaos.ts';

test('of sixteen processes that take the same names, some killed, exactly one wins each', async () => {
  const { counted, violations } = await chaos(1);
  assert.deepEqual(violations, []);
  assert.equal(counted['names'], 60);
  assert.equal(counted['kills'], 4);
  assert.ok(counted['won']! > 0 && counted['lost']! > 0);
});
