import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findLongInteger, lostWhenStored, parseExactly } from '../../../src/schema/json.ts';
import { longInteger, longIntegers, lostInTool } from './long-integer.ts';

const texts = [
  '9007199254740993',
  '9007199254740992',
  '-9007199254740993',
  '1000000000000000000000',
  '1152921504606846976',
  '9007199254740993.0',
  '9007199254740993e1',
  '"9007199254740993"',
  '{"9007199254740993": "\\"9007199254740993"}',
  '[1, [{"a": 12345678901234567890}]]',
  '{"maximum": 9223372036854775807}',
  '{"maximum" :\n 9223372036854775807, "default": 9223372036854775807}',
  '{"properties": {"maximum": {"const": 9223372036854775807}}}',
];

test('the page finds the integers that the server would refuse, and no others', () => {
  for (const text of texts) {
    assert.equal(longIntegers(text)[0]?.digits, findLongInteger(parseExactly(text), '')?.digits, text);
    assert.equal(lostInTool(text)[0]?.digits, lostWhenStored(text)?.digits, text);
  }
});

test('a number that stands alone may be written as people write it', () => {
  assert.deepEqual(['+9007199254740993', ' 09007199254740993 ', '7', '', 'no number'].map(longInteger), [
    '9007199254740993',
    '9007199254740993',
    undefined,
    undefined,
    undefined,
  ]);
});
