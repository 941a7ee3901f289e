import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import {
  findLongInteger,
  lostWhenStored,
  numberOf,
  parseExactly,
  parseRpc,
  roundLongIntegers,
  textOf,
} from './json.ts';

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

const isKept = (text: string): boolean => findLongInteger(parseExactly(text), '') !== undefined;

test('what JavaScript has written is read as JSON.parse reads it', () => {
  const integers = fc.double({ noNaN: true, noDefaultInfinity: true }).map(Math.trunc);
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.array(integers)), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(parseExactly(text), JSON.parse(text));
    }),
  );
});

test('an integer is kept exactly when JavaScript would write another one, and is written as it was', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), (integer) => {
      const text = `{"a":[${integer}]}`;
      assert.equal(isKept(text), String(Number(integer)) !== String(integer));
      assert.equal(JSON.stringify(parseExactly(text)), text);
    }),
  );
  assert.deepEqual(findLongInteger(parseExactly('{"a":[{"b/c":9007199254740993}]}'), '/args'), {
    path: '/args/a/0/b~1c',
    digits: '9007199254740993',
  });
});

test('of a JSON-RPC message what is handed on or said again is read exactly, and nothing else', () => {
  const long = '12345678901234567890';
  const message = (other: string): string =>
    `{"id":${long},"method":"m","params":{"_meta":{"progressToken":${long},"x":${other}},"arguments":{"id":${long}},` +
    `"inputResponses":{"a":[${long}]},"name":${other}},"result":{"content":{"id":${long}}}}`;
  const read = message('12345678901234567000');
  assert.equal(JSON.stringify(parseRpc(message(long))), read);
  assert.equal(JSON.stringify(parseRpc(`[${message(long)},5,${message(long)}]`)), `[${read},5,${read}]`);
  assert.equal(JSON.stringify(parseRpc(long)), '12345678901234567000');
  assert.equal(JSON.stringify(parseRpc(`{"params":${long}}`)), '{"params":12345678901234567000}');
});

test('a kept integer is a number again where only numbers are known; what holds none stays the same object', () => {
  const text = '{"a":[12345678901234567890,{"b":-9007199254740993,"c":null}],"__proto__":[9007199254740993]}';
  assert.deepEqual(roundLongIntegers(parseExactly(text)), JSON.parse(text));
  const plain = { a: [1, { b: 'x' }] };
  assert.equal(roundLongIntegers(plain), plain);
  assert.equal(numberOf(parseExactly('12345678901234567890')), Number('12345678901234567890'));
  const deep = parseExactly(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
  assert.equal(roundLongIntegers(deep), deep);
});

test('of what is stored only the bounds of a schema may be rounded', () => {
  const schema = '{"maximum":18446744073709551615,"minimum":-9223372036854775808}';
  assert.equal(lostWhenStored(`{"argSchema":${schema}}`), undefined);
  assert.deepEqual(lostWhenStored('{"argSchema":{"default":18446744073709551615}}'), {
    path: '/argSchema/default',
    digits: '18446744073709551615',
  });
  const named = '{"argSchema":{"properties":{"maximum":{"const":18446744073709551615}}}}';
  assert.equal(lostWhenStored(named)?.path, '/argSchema/properties/maximum/const');
});
