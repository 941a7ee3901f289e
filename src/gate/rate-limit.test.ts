import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { Failure } from '../schema/index.ts';
import { RateLimit } from './rate-limit.ts';

const outcome = (take: () => void): string => {
  try {
    take();
    return 'taken';
  } catch (error) {
    assert.ok(error instanceof Failure && error.code === 'rate.limited', String(error));
    return error.message;
  }
};

test('a tool may be called again when the sixty seconds of its first call are over, and says how long that is', () => {
  const limit = new RateLimit();
  const at = (now: number, tool = 'a'): string => outcome(() => limit.take(tool, 'tool', 2, now));
  assert.deepEqual([at(0), at(30_000)], ['taken', 'taken']);
  assert.match(at(30_500), /tool.*\b2\b.*\b30 s/);
  assert.equal(at(30_500, 'b'), 'taken', 'each tool counts for itself');
  assert.match(at(59_999), /\b1 s/);
  assert.equal(at(60_000), 'taken', 'what was refused does not count');
  assert.match(at(89_999), /\b1 s/);
  assert.equal(at(90_000), 'taken');
});

test('in no sixty seconds are there more calls than allowed, and none is refused below that', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20_000)), fc.integer({ min: 1, max: 5 }), (gaps, most) => {
      const limit = new RateLimit();
      const taken: number[] = [];
      let now = 0;
      for (const gap of gaps) {
        now += gap;
        const recent = taken.filter((at) => at > now - 60_000).length;
        const isTaken = outcome(() => limit.take('a', 'a', most, now)) === 'taken';
        assert.equal(isTaken, recent < most);
        if (isTaken) taken.push(now);
      }
    }),
  );
});

test('tools that nobody calls any more are forgotten, those that are called keep their count', () => {
  const limit = new RateLimit();
  for (let second = 0; second < 10_000; second++) {
    limit.take(`gone-${second}`, 'gone', 5, second * 1000);
    if (second % 20 === 0) limit.take('often', 'often', 3, second * 1000);
  }
  assert.ok(limit.size <= 1000, `${limit.size} tools`);
  assert.throws(() => limit.take('often', 'often', 3, 9_999_000), { code: 'rate.limited' });
});

test('the hundred thousandth call of a minute costs no more than the first', () => {
  const limit = new RateLimit();
  const began = performance.now();
  for (let n = 0; n < 200_000; n++) limit.take('a', 'tool', 1_000_000, n * 0.5);
  const tookMs = performance.now() - began;
  // To look at all of them each time takes minutes.
  assert.ok(tookMs < 10_000, `${tookMs} ms`);
  assert.equal(
    outcome(() => limit.take('a', 'tool', 120_000, 100_000)),
    'taken',
  );
  assert.match(
    outcome(() => limit.take('a', 'tool', 120_000, 100_000)),
    /120000/,
  );
});
