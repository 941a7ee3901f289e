import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { choicesOf, fits, kindOf, nameOf, resolve, startOf, variantsOf } from './read-schema.ts';

describe('reading a schema for a form', () => {
  test('follows local references and keeps what stands beside them', () => {
    const root = { definitions: { name: { type: 'string', description: 'old' } } };
    assert.deepEqual(resolve({ $ref: '#/definitions/name', description: 'new' }, root), {
      type: 'string',
      description: 'new',
    });
  });

  test('survives references in a circle, to nowhere and to elsewhere', () => {
    const root = { definitions: { a: { $ref: '#/definitions/b' }, b: { $ref: '#/definitions/a' } } };
    assert.deepEqual(resolve({ $ref: '#/definitions/a' }, root), {});
    assert.deepEqual(resolve({ $ref: '#/nowhere', title: 'x' }, root), { title: 'x' });
    assert.deepEqual(resolve({ $ref: 'https://example.com/schema' }, root), {});
    assert.deepEqual(resolve(true, root), {});
  });

  test('folds allOf into one object', () => {
    const read = resolve({ allOf: [{ properties: { a: {} }, required: ['a'] }, { properties: { b: {} } }] }, {});
    assert.deepEqual(Object.keys(read['properties'] as object), ['a', 'b']);
    assert.deepEqual(read['required'], ['a']);
  });

  test('knows a union, a choice and a schema that says nothing', () => {
    assert.equal(kindOf({ oneOf: [{ type: 'string' }, { type: 'number' }] }), 'union');
    assert.equal(kindOf({ type: ['string', 'null'] }), 'union');
    assert.equal(kindOf({ anyOf: [{ const: 'a' }, { const: 'b' }] }), 'choice');
    assert.deepEqual(choicesOf({ anyOf: [{ const: 'a' }, { const: 'b' }] }), ['a', 'b']);
    assert.equal(kindOf({}), 'any');
    assert.equal(kindOf({ properties: {} }), 'object');
    assert.equal(kindOf({ type: 'nonsense' }), 'any');
  });

  test('begins with what the schema leaves no choice about, however deep, and no deeper than anyone looks', () => {
    const shape = (kind: string) => ({
      type: 'object',
      properties: { kind: { const: kind }, size: { type: 'number', default: 1 } },
      required: ['kind'],
    });
    const root = {
      type: 'object',
      properties: {
        shape: { oneOf: [shape('circle'), shape('square')] },
        maybe: shape('never'),
        word: { oneOf: [{ type: 'string' }, { type: 'null' }] },
        self: { $ref: '#' },
      },
      required: ['shape', 'word', 'self'],
    };
    const start = startOf(root) as { self: object };
    assert.deepEqual({ ...start, self: {} }, { shape: { kind: 'circle', size: 1 }, self: {} });
    assert.ok(JSON.stringify(start).length < 1_000);
  });

  test('knows which branch of a union a value was meant for', () => {
    const kind = (name: string) => ({ type: 'object', properties: { kind: { const: name } } });
    assert.ok(!fits({ kind: 'square' }, kind('circle')) && fits({ kind: 'square' }, kind('square')));
    assert.ok(fits({}, kind('circle')) && !fits('circle', kind('circle')));
    assert.ok(fits(2, { enum: [1, 2] }) && !fits(3, { enum: [1, 2] }));
  });

  test('names the branches of a union by title, marker or type', () => {
    const branches = variantsOf({
      oneOf: [{ title: 'Named' }, { properties: { kind: { const: 'circle' } } }, { type: 'string' }],
    });
    assert.deepEqual(
      branches.map((branch, index) => nameOf(branch as Record<string, unknown>, index)),
      ['Named', 'circle', 'string'],
    );
  });

  test('begins with defaults only', () => {
    assert.deepEqual(startOf({ type: 'object', properties: { a: { default: 5 }, b: { type: 'string' } } }), { a: 5 });
  });
});
