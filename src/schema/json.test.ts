import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numberOf, textOf } from './json.ts';

const cannotBeMadeOne = JSON.parse('{"toString": 1, "valueOf": 2}') as unknown;

test('what is no text is an empty one', () => {
  assert.deepEqual(['a', 5, true, null, undefined, [], cannotBeMadeOne].map(textOf), [
    'a',
    '5',
    'true',
    '',
    '',
    '',
    '',
  ]);
});

test('what is no number is NaN', () => {
  assert.deepEqual([5, '6', 'x', null, undefined, ['7'], cannotBeMadeOne].map(numberOf), [
    5,
    6,
    NaN,
    NaN,
    NaN,
    NaN,
    NaN,
  ]);
});
