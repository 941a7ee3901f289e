import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { args, refused } from './fixtures/schema-outcomes.ts';
import { compileSchema } from './json-schema.ts';
import { uncheckedPatterns } from './safe-pattern.ts';

describe('bombs', () => {
  const tooLong = 'takes too long to check: it is too large for this schema';

  test('what is no schema is refused with its place', () => {
    for (const odd of [
      null,
      5,
      'x',
      [],
      undefined,
      { type: 'strin' },
      { properties: 5 },
      { properties: { a: 1 } },
      { required: 'a' },
    ])
      assert.match(refused(odd).message, /argSchema/, JSON.stringify(odd));
    assert.equal(refused({ properties: { a: { type: 'strin' } } }).details[0]?.path, '/argSchema/properties/a/type');
  });

  test('other documents are never loaded', () => {
    assert.match(refused({ $ref: 'http://127.0.0.1/x.json' }).message, /Other documents are never loaded/);
    assert.match(refused({ $ref: '#/definitions/gone' }).message, /leads to nothing/);
  });

  test('circles without an end are refused, recursive data is not', () => {
    assert.match(refused({ $ref: '#' }).message, /leads back to itself/);
    assert.match(
      refused({
        allOf: [{ $ref: '#/definitions/a' }],
        definitions: { a: { anyOf: [{ $ref: '#/definitions/b' }] }, b: { $ref: '#/definitions/a' } },
      }).message,
      /leads back to itself/,
    );
    const tree = {
      type: 'object',
      properties: { left: { $ref: '#' }, right: { $ref: '#' } },
      additionalProperties: false,
    };
    assert.equal(args(tree, { left: { right: {} } }).ok, true);
    assert.equal(args(tree, { left: { right: 1 } }).ok, false);
  });

  test('a circle through names of its own ends in an answer', () => {
    const loop = { $id: 'urn:x:loop', allOf: [{ $ref: 'urn:x:loop' }] };
    assert.match(refusedOrTold(loop, {}), /too long|too deep|itself/);
  });

  test('deep, wide and huge schemas are refused at once', () => {
    let deep: object = {};
    for (let i = 0; i < 5000; i++) deep = { not: deep };
    assert.match(refused(deep).message, /nested deeper than 64/);
    assert.match(refused({ anyOf: Array.from({ length: 10_000 }, () => ({})) }).message, /at most 500 are taken/);
    const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`p${i}`, {}]));
    assert.match(refused({ properties: wide }).message, /more than 2000 parts/);
    assert.match(refused({ description: 'x'.repeat(300_000) }).message, /at most 262144/);
  });

  test('doubling references are stopped while checking', () => {
    const definitions: Record<string, unknown> = { d0: { type: 'string' } };
    for (let i = 1; i < 40; i++)
      definitions[`d${i}`] = { allOf: [{ $ref: `#/definitions/d${i - 1}` }, { $ref: `#/definitions/d${i - 1}` }] };
    const startedAt = performance.now();
    const checked = args({ $ref: '#/definitions/d39', definitions }, 'x');
    assert.deepEqual(checked.ok === false && checked.errors[0]?.message, tooLong);
    assert.ok(performance.now() - startedAt < 20_000);
  });

  /** Ten branches that each lead to ten more, ten times: the leaf is looked at ten thousand million times. */
  const branching = (leaf: object, word = 'anyOf'): object => {
    const definitions: Record<string, unknown> = { d10: leaf };
    for (let i = 0; i < 10; i++)
      definitions[`d${i}`] = { [word]: Array.from({ length: 10 }, () => ({ $ref: `#/definitions/d${i + 1}` })) };
    return { $ref: '#/definitions/d0', definitions };
  };
  const fields = Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`k${i}`, 1]));
  const few = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, 1]));
  for (const [what, schema, value] of [
    ['branches that fail', branching({ type: 'string' }), 5],
    ['branches that all fit', branching({ type: 'integer' }, 'oneOf'), 5],
    ['negations', branching({ not: { type: 'integer' } }), 5],
    ['a pattern over a long text', branching({ pattern: 'b+$' }, 'allOf'), 'b'.repeat(50_000)],
    ['a pattern over many names', branching({ patternProperties: { 'q+$': {} } }, 'allOf'), fields],
    ['the length of a long text', branching({ maxLength: 10 }), 'é'.repeat(1_000_000)],
    ['a format of a long text', branching({ format: 'email' }), 'a'.repeat(50_000)],
    ['a large value compared with another', branching({ enum: [{ value: few }] }), { value: { ...few, z: 1 } }],
    ['a long list of names', branching({ required: Array.from({ length: 10_000 }, (_, i) => `r${i}`) }), {}],
    ['fields that are counted', branching({ minProperties: 60_000 }), fields],
    ['fields that are too many', branching({ additionalProperties: false }), fields],
    ['items that must differ', branching({ uniqueItems: true }), [Object.keys(fields), 1, 1]],
  ] as const)
    test(`what is looked at too often is stopped: ${what}`, () => {
      const startedAt = performance.now();
      const checked = args(schema, value);
      assert.equal(checked.ok === false && checked.errors[0]?.message, tooLong);
      assert.ok(performance.now() - startedAt < 10_000);
    });

  test('a schema of very many fields is checked as any other', () => {
    const texts = Object.fromEntries(Array.from({ length: 1990 }, (_, i) => [`p${i}`, { enum: ['a', 'b', `c${i}`] }]));
    const schema = { type: 'object', properties: texts, additionalProperties: false };
    assert.equal(args(schema, { p0: 'a', p1989: 'c1989' }).ok, true);
    const wrong = args(schema, { p0: 'a', p1989: 'x' });
    assert.equal(wrong.ok === false && wrong.errors[0]?.path, '/args/p1989');
  });

  test('large values that are looked at once are checked', () => {
    const ints = Array.from({ length: 400_000 }, (_, i) => i);
    assert.equal(args({ items: { type: 'integer' } }, ints).ok, true);
    assert.equal(
      args({ items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } }, ints.slice(0, 300_000)).ok,
      true,
    );
    assert.equal(args({ additionalProperties: { type: 'integer' } }, fields).ok, true);
    assert.equal(args({ items: { pattern: '^[a-z]+[0-9]*$' } }, Object.keys(fields)).ok, true);
    assert.equal(args({ items: { enum: Object.keys(few) } }, Object.keys(few)).ok, true);
    assert.equal(args({ items: { uniqueItems: true } }, [ints]).ok, true);
  });

  test('patterns that are too large together are refused before they are compiled', () => {
    const many = (pattern: string) =>
      Object.fromEntries(Array.from({ length: 1900 }, (_, i) => [`p${i}`, { pattern: pattern + i }]));
    const startedAt = performance.now();
    for (const schema of [
      { properties: many('(x{900})') },
      { properties: many('^[\\p{L}\\]]{1,300}') },
      { properties: many('((a|b|c|d){1,30}){1,30}') },
      { properties: many('(?=y)x{900}') },
      { patternProperties: byPattern(many('x{900,}')) },
      { properties: { a: { pattern: `(${'ab'.repeat(500)}){999}` } } },
    ]) {
      assert.match(refused(schema).message, /patterns too large together/, JSON.stringify(schema).slice(0, 80));
      assert.ok(uncheckedPatterns(schema).length < 1900);
    }
    for (const odd of ['[', '(', '{', '\\p{', '{1,', '[\\']) refusedOrTold({ pattern: odd.repeat(40_000) }, 'x');
    assert.ok(performance.now() - startedAt < 10_000);
    const usual = '^[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){0,3}\\{[^\\]]\\}$';
    const fine = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, { pattern: usual }]));
    assert.equal(args({ properties: fine }, { p1: 'a.b.c{x}' }).ok, true);
    // The engine does not run these anyway.
    for (const pattern of ['^.{1,500000}$', '((a{1000}){1000}){1000}']) {
      assert.deepEqual(uncheckedPatterns({ pattern }), [pattern]);
      assert.equal(args({ pattern }, 'x').ok, true);
    }
  });

  test('what a schema claims to cost is not believed', () => {
    const claim = { 'oubliette:step': -1e9, properties: { a: { 'oubliette:step': 'much', type: 'string' } } };
    assert.equal(args(claim, { a: 'x' }).ok, true);
    const checked = args({ ...branching({ type: 'string' }), 'oubliette:step': -1e9 }, 5);
    assert.equal(checked.ok === false && checked.errors[0]?.message, tooLong);
  });

  test('doubling by the depth of the value is stopped', () => {
    const schema = { properties: { x: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } };
    let value: object = {};
    for (let i = 0; i < 60; i++) value = { x: value };
    assert.equal(args(schema, value).ok, false);
  });

  test('a value nested very deep is refused with a sentence', () => {
    const value = JSON.parse(`${'{"x":'.repeat(100_000)}1${'}'.repeat(100_000)}`);
    const checked = compileSchema({ properties: { x: { $ref: '#' } } }).check(value, '/args');
    assert.deepEqual(checked, {
      ok: false,
      errors: [{ path: '/args', message: 'is nested too deep for this schema' }],
    });
  });

  test('uniqueItems takes linear time and ignores the order of keys', () => {
    const unique = { uniqueItems: true };
    const many = Array.from({ length: 50_000 }, (_, i) => ({ i }));
    const startedAt = performance.now();
    assert.equal(args(unique, many).ok, true);
    assert.ok(performance.now() - startedAt < 20_000);
    assert.equal(
      args(unique, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]).ok,
      false,
    );
    assert.equal(args(unique, [1, '1', true, null]).ok, true);
  });

  test('many mistakes in a large value are told shortly', () => {
    const checked = args(
      { items: { type: 'string' } },
      Array.from({ length: 100_000 }, (_, i) => i),
    );
    assert.equal(checked.ok === false && checked.errors.length, 1);
    const few = args(
      { items: { type: 'string' } },
      Array.from({ length: 100 }, (_, i) => i),
    );
    assert.equal(few.ok === false && few.errors.length, 20);
  });
});

function refusedOrTold(schema: unknown, value: unknown): string {
  try {
    const checked = args(schema, value);
    return checked.ok ? 'taken' : (checked.errors[0]?.message ?? '');
  } catch (error) {
    return (error as Error).message;
  }
}

const byPattern = (schemas: Record<string, { pattern: string }>): Record<string, unknown> =>
  Object.fromEntries(Object.values(schemas).map(({ pattern }) => [pattern, {}]));
