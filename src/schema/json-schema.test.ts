import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { args, refused } from './fixtures/schema-outcomes.ts';
import { compileSchema } from './json-schema.ts';
import { uncheckedPatterns } from './safe-pattern.ts';

describe('checking', () => {
  const city = {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', default: 3 }, unit: { enum: ['c', 'f'] } },
    required: ['city'],
    additionalProperties: false,
  };

  test('fills in defaults without touching what was given', () => {
    const given = { city: 'Bern' };
    assert.deepEqual(args(city, given), { ok: true, value: { city: 'Bern', days: 3 } });
    assert.deepEqual(given, { city: 'Bern' });
  });

  test('leaves out defaults that do not fit their own schema, and fills in the others', () => {
    const schema = {
      type: 'object',
      $defs: { unit: { enum: ['c', 'f'] } },
      properties: {
        a: { type: 'string' },
        note: { type: 'string', default: null },
        'odd/na#me %': { type: 'integer', default: 'x' },
        unit: { allOf: [{ $ref: '#/$defs/unit' }], default: 'k' },
        days: { type: 'integer', default: 3 },
        default: { type: 'integer', default: 7 },
        deep: { type: 'object', default: {}, properties: { list: { type: 'array', default: {} }, n: { default: 1 } } },
      },
      required: ['a'],
    };
    const filled = { days: 3, default: 7, deep: { n: 1 } };
    assert.deepEqual(args(schema, { a: 'x' }), { ok: true, value: { a: 'x', ...filled } });
    assert.deepEqual(args(schema, { a: 'x', note: null }), {
      ok: false,
      errors: [{ path: '/args/note', message: 'must be string, found null' }],
    });
    assert.deepEqual(args(schema, {}), { ok: false, errors: [{ path: '/args/a', message: 'is required' }] });
    assert.deepEqual(args({ ...schema, $id: 'https://example.com/s' }, { a: 'y' }), {
      ok: true,
      value: { a: 'y', ...filled },
    });
  });

  test('refuses numbers that JSON cannot hold', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' }, f: { type: 'number' } } };
    assert.deepEqual(args(schema, JSON.parse('{"n":1e400,"f":-1e400}')), {
      ok: false,
      errors: [
        { path: '/args/n', message: 'must be integer, found a number out of range' },
        { path: '/args/f', message: 'must be number, found a number out of range' },
      ],
    });
  });

  test('says plainly what is too short, too few or too many', () => {
    const schema = {
      type: 'object',
      minProperties: 1,
      properties: { name: { type: 'string', minLength: 8 }, list: { type: 'array', maxItems: 1 } },
    };
    assert.deepEqual(args(schema, {}), {
      ok: false,
      errors: [{ path: '/args', message: 'must have at least 1 field; known here: name, list' }],
    });
    assert.deepEqual(args(schema, { name: 'short', list: [1, 2] }), {
      ok: false,
      errors: [
        { path: '/args/name', message: 'must have at least 8 characters' },
        { path: '/args/list', message: 'must have at most 1 item' },
      ],
    });
  });

  test('leaves answers as they are', () => {
    assert.deepEqual(compileSchema(city).check({ city: 'Bern' }), { ok: true, value: { city: 'Bern' } });
  });

  test('tells everything that does not fit, each at its place', () => {
    assert.deepEqual(args(city, { days: 'x', unit: 'k', extra: 1 }), {
      ok: false,
      errors: [
        { path: '/args/city', message: 'is required' },
        { path: '/args/extra', message: 'is not a known name; known here: city, days, unit' },
        { path: '/args/days', message: 'must be integer, found string' },
        { path: '/args/unit', message: 'must be one of "c", "f", found "k"' },
      ],
    });
  });

  test('does not coerce', () => {
    assert.equal(args({ properties: { n: { type: 'integer' } } }, { n: '1' }).ok, false);
  });

  test('reads draft-07 unless $schema says 2020-12', () => {
    const tuple = { items: [{ type: 'string' }] };
    assert.equal(args(tuple, [1]).ok, false);
    const modern = { $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] };
    assert.equal(args(modern, [1]).ok, false);
    assert.equal(args({ prefixItems: [{ type: 'string' }] }, [1]).ok, true);
    assert.match(refused({ $schema: 'https://example.com/mine' }).message, /dialect that is not supported/);
  });

  test('true takes everything, false nothing', () => {
    assert.equal(args(true, { a: 1 }).ok, true);
    assert.equal(args(false, { a: 1 }).ok, false);
  });

  test('names of Object.prototype are ordinary names', () => {
    assert.equal(args({ required: ['toString'] }, {}).ok, false);
    const evil = JSON.parse('{"properties":{"__proto__":{"default":{"isAdmin":true}},"a":{"default":1}}}');
    const checked = args(evil, {});
    assert.ok(checked.ok);
    assert.equal((checked.value as { isAdmin?: boolean }).isAdmin, undefined);
  });

  test('in draft-07 a reference stands alone, in 2020-12 its neighbours count', () => {
    const lone = { definitions: { a: { type: 'array' } }, properties: { x: { $ref: '#/definitions/a', maxItems: 1 } } };
    assert.equal(args(lone, { x: [1, 2] }).ok, true);
    assert.equal(args({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...lone }, { x: [1, 2] }).ok, false);
  });

  test('two schemas with the same $id do not meet', () => {
    assert.equal(args({ $id: 'urn:x:y', type: 'string' }, 'a').ok, true);
    assert.equal(args({ $id: 'urn:x:y', type: 'number' }, 'a').ok, false);
    assert.match(refused({ $ref: 'urn:x:y' }).message, /leads to nothing in this schema/);
  });

  test('words that only the library knows mean nothing', () => {
    const text = { type: 'string' };
    for (const schema of [
      { $async: true, type: 'object', properties: { text } },
      { type: 'object', properties: { text: { $async: true, ...text } } },
      {
        allOf: [{ $ref: '#/foreign/all' }],
        foreign: {
          all: {
            $async: true,
            id: 'x',
            type: 'object',
            properties: { id: { type: 'null' }, text: { id: 'y', ...text } },
          },
        },
      },
      { id: 'a', type: 'object', properties: { text: { id: 'b', ...text }, id: { nullable: true } }, required: ['id'] },
      { type: 'object', nullable: 'yes', properties: { text, id: { type: 'null' } } },
    ]) {
      const compiled = compileSchema(schema);
      assert.equal(compiled.check({ text: 'fits', id: null }).ok, true, JSON.stringify(schema));
      assert.equal(compiled.check({ text: 5, id: null }).ok, false, JSON.stringify(schema));
    }
  });

  test('formats are checked', () => {
    assert.equal(args({ format: 'email' }, 'nobody').ok, false);
    assert.equal(args({ format: 'date-time' }, '2026-11-15T09:00:00Z').ok, true);
    assert.equal(args({ format: 'never-heard-of' }, 'x').ok, true);
  });
});

describe('patterns', () => {
  test('each is held against its own value', () => {
    const two = { properties: { a: { pattern: '^a+$' }, b: { pattern: '^b+$' } } };
    assert.equal(args(two, { a: 'aaa', b: 'bbb' }).ok, true);
    assert.equal(args(two, { a: 'aaa', b: 'aaa' }).ok, false);
  });

  test('a pattern that explodes in other engines takes no time', () => {
    const startedAt = performance.now();
    assert.equal(args({ pattern: '^(a+)+$' }, `${'a'.repeat(5000)}b`).ok, false);
    assert.ok(performance.now() - startedAt < 20_000);
  });

  test('a pattern that the safe engine cannot run is named and not checked', () => {
    const compiled = compileSchema({ pattern: '^(?=.*\\d).{8,}$', properties: { x: { pattern: '^x' } } });
    assert.deepEqual(compiled.uncheckedPatterns, ['^(?=.*\\d).{8,}$']);
    assert.equal(compiled.check('short').ok, true);
    const schema = {
      properties: { a: { pattern: '(?!x)' }, b: { pattern: '^b' } },
      patternProperties: { '(.)\\1': {} },
    };
    assert.deepEqual(uncheckedPatterns(schema).toSorted(), ['(.)\\1', '(?!x)']);
    assert.deepEqual(uncheckedPatterns({ properties: { pattern: { type: 'string' } } }), []);
  });

  test('escapes of the old regular expression mode are taken, nonsense is refused', () => {
    assert.equal(args({ pattern: '^[\\w-\\.]+$' }, 'a-b.c').ok, true);
    assert.match(refused({ pattern: '(' }).message, /is not a valid regular expression/);
  });

  test('a text that is too long for its pattern is refused, not run', () => {
    const checked = args({ pattern: '^(a|b|c|d|e|f){500}x{500}y{500}$' }, 'a'.repeat(3_000_000));
    assert.equal(checked.ok, false);
  });
});
