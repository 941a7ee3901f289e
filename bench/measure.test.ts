import assert from 'node:assert/strict';
import { test } from 'node:test';
import { interleave, judge, median, percentile } from './measure.ts';

test('the median and percentiles of rounds', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.95), 10);
});

test('a goal is judged on the ratio or on the value', () => {
  const row = { what: 'x', unit: 'ms', ours: [10, 12, 11], other: [20, 22, 21] };
  assert.equal(judge({ ...row, goal: { of: 'ratio', atMost: 0.5 } }).isMet, false);
  assert.equal(judge({ ...row, goal: { of: 'ratio', atLeast: 0.5 } }).isMet, true);
  assert.equal(judge({ ...row, goal: { of: 'value', atMost: 11 } }).isMet, true);
  assert.equal(judge(row).isMet, undefined);
});

test('sides take turns, and the first one changes from round to round', async () => {
  const order: string[] = [];
  const side = (name: string) => async () => order.push(name);
  await interleave(2, { a: side('a'), b: side('b') });
  assert.deepEqual(order, ['a', 'b', 'b', 'a']);
});
