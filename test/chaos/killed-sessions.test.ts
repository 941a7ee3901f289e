import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chaos } from './killed-sessions.chaos.ts';

test('a server killed again and again while agents work loses no event, no answer and no turn', async () => {
  const { counted, violations } = await chaos(3);
  assert.deepEqual(violations, []);
  assert.equal(counted['kills'], 3);
  assert.ok(counted['answers']! > 0);
});
