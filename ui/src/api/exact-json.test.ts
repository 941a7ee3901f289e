import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactly } from './exact-json.ts';

test('integers of any length are shown as they came', () => {
  const text =
    '{"ok":true,"value":{"id":1234567890123456789,"list":[-9007199254740993,5],"text":"1234567890123456789"}}';
  assert.equal(JSON.stringify(parseExactly(text)), text);
});

test('whatever a number can hold is a number', () => {
  const text = '[9007199254740991,1152921504606847000,12345678901234567890.5,1e300,-0]';
  assert.deepEqual(parseExactly(text), JSON.parse(text));
});

test('what is no JSON is refused as ever', () => {
  assert.throws(() => parseExactly('{"id":1234567890123456789'), SyntaxError);
});
