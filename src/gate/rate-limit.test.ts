import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from './rate-limit.ts';

test('tools that nobody calls any more are forgotten, those that are called keep their count', () => {
  const limit = new RateLimit();
  for (let second = 0; second < 10_000; second++) {
    limit.take(`gone-${second}`, 'gone', 5, second * 1000);
    if (second % 20 === 0) limit.take('often', 'often', 3, second * 1000);
  }
  assert.ok(limit.size <= 1000, `${limit.size} tools`);
  assert.throws(() => limit.take('often', 'often', 3, 9_999_000), { code: 'rate.limited' });
});
