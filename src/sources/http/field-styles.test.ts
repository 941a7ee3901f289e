import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FieldStyle, HttpImpl } from '../../schema/index.ts';
import { compileRequest } from './request-plan.ts';
import { TemplateProblem } from './template.ts';

const plan = (more: Partial<HttpImpl['request']>) =>
  compileRequest(
    { method: 'POST', urlTemplate: 'https://h.example.org/', ...more },
    { type: 'object', properties: { f: {} } },
  );
const query = (style: FieldStyle, f: unknown, value: unknown = '${f}'): string =>
  new URL(
    plan({ query: { f: value }, styles: { query: { f: style } } }).build({ args: { f }, secret: () => '' }).url,
  ).search.slice(1);

test('lists and objects of a query are written in their style, plain values in all of them alike', () => {
  const value = { a: { b: 1 }, c: [2, 3], 'd e': null };
  assert.equal(decodeURIComponent(query('deepObject', value)), 'f[a][b]=1&f[c][]=2&f[c][]=3');
  assert.equal(decodeURIComponent(query('exploded', value)), 'a={"b":1}&c=2&c=3');
  assert.equal(query('commas', ['a,b', '&c']), 'f=a%2Cb,%26c');
  assert.equal(query('pipes', { a: 1 }), 'f=a%7C1');
  assert.equal(query('commas', []), '');
  assert.equal(query('spaces', undefined), '');
  assert.equal(query('commas', 'x', ['a', '${f}']), 'f=a,x');
  for (const style of ['deepObject', 'exploded', 'commas', 'tabs', 'file'] as const)
    assert.equal(query(style, 1), 'f=1');
});

test('a pair with a name that every object has is written as any other', () => {
  const query = { f: '${f}', constructor: ['${f}', 'b'] };
  const { url } = plan({ query, styles: { query: { f: 'json' } } }).build({ args: { f: undefined }, secret: () => '' });
  assert.equal(new URL(url).search, '?constructor=b');
  const mixed = plan({ query: { f: '${f}', constructor: ['x${f}', 'b'] }, styles: { query: { f: 'json' } } });
  assert.equal(
    new URL(mixed.build({ args: { f: ['1', '2'] }, secret: () => '' }).url).searchParams.get('constructor'),
    'x1,2',
  );
});

test('a style for what is not in the query is refused, a value that is nested without end too', () => {
  assert.throws(() => plan({ query: { g: 1 }, styles: { query: { f: 'json' } } }), TemplateProblem);
  let deep: unknown = 1;
  for (let level = 0; level < 100; level++) deep = { a: deep };
  assert.throws(() => query('deepObject', deep), /nested more than/);
});

test('what an object brings into a query is never a second credential', () => {
  const more = { query: { f: '${f}', key: '${SECRET}' }, styles: { query: { f: 'exploded' } } } as const;
  const auth = { type: 'apiKey', in: 'query', name: 'api key', value: '${KEY}' } as const;
  const url = (f: object): string => plan({ ...more, auth }).build({ args: { f }, secret: () => 's' }).url;
  assert.equal(url({ a: 1, keys: 2 }), 'https://h.example.org/?a=1&keys=2&key=s');
  for (const name of ['key', 'api key']) assert.throws(() => url({ [name]: 1 }), /which the tool itself sets/);
});
