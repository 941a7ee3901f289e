import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './disk-full.chaos.ts';

test('on a full disk writes are refused by name, nothing is lost or half written, and all goes on when there is room', async () => {
  const { counted, violations } = await chaos(3);
  assert.deepEqual(violations, []);
  assert.equal(counted['fills'], 3);
  assert.ok(counted['refused']! >= 36, `only ${counted['refused']} writes were refused`);
  assert.ok(counted['acknowledged']! > 20, `only ${counted['acknowledged']} writes were acknowledged`);
});
