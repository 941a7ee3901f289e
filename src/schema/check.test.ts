import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkText } from './check.ts';

const nested = (depth: number): unknown => (depth === 0 ? 'x' : { a: nested(depth - 1) });

it('refuses what no stored text may hold, and says where it stands', () => {
  for (const [value, path, message] of [
    ['a\0', '/body', 'holds a NUL character'],
    [{ list: ['a', { 'b/c': '\ud800' }] }, '/body/list/1/b~1c', 'holds half of a surrogate pair'],
    [{ list: [{ 'n\0': 1 }] }, '/body/list/0', 'holds a NUL character'],
    [{ '\udfff': 1 }, '/body', 'holds half of a surrogate pair'],
    [nested(129), `/body${'/a'.repeat(128)}`.slice(0, 200), 'is nested deeper than 128 levels'],
  ] as const)
    assert.throws(() => checkText(value, '/body'), { code: 'request.invalid', details: [{ path, message }] });
});

it('lets everything else pass, up to the depth that readers can stand', () => {
  for (const value of ['', 'ä 😀 \u0001', 1, null, true, [], { '': [{}, '\u{10ffff}'] }, nested(128)]) checkText(value);
  checkText({ a: { b: 1 } }, '', 2);
  assert.throws(() => checkText({ a: { b: {} } }, '', 2), { code: 'request.invalid' });
});
