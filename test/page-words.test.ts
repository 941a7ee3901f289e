import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileSchema } from '../src/schema/index.ts';
import { checkValue } from '../ui/src/form/check-value.ts';

const schema = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[A-Z]' },
    units: { enum: ['metric', 'imperial'] },
    days: { type: 'integer', minimum: 1, maximum: 7 },
    share: { exclusiveMinimum: 0, exclusiveMaximum: 1 },
    step: { multipleOf: 5 },
    kind: { const: 'a' },
    list: { type: 'array', minItems: 1, maxItems: 2, items: { type: ['number', 'null'] } },
    node: { $ref: '#/definitions/node' },
    'a/b': { type: 'boolean' },
    'ä b%': { type: 'boolean' },
  },
  required: ['city'],
  additionalProperties: false,
  definitions: { node: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } },
};

test('the page says what does not fit in the words and at the places that the server would', async () => {
  const server = compileSchema(schema);
  const wrong: Record<string, unknown>[] = [
    {},
    { city: 'A' },
    { city: 'Aaaaaa' },
    { city: 'aaa' },
    { city: 'Oslo', units: 'metrical' },
    { city: 'Oslo', days: 9 },
    { city: 'Oslo', days: 0 },
    { city: 'Oslo', days: 1.5 },
    { city: 'Oslo', days: '3' },
    { city: 'Oslo', share: 0 },
    { city: 'Oslo', share: 1 },
    { city: 'Oslo', step: 7 },
    { city: 'Oslo', kind: 'b' },
    { city: 'Oslo', list: [] },
    { city: 'Oslo', list: [1, 2, 3] },
    { city: 'Oslo', list: ['a'] },
    { city: 'Oslo', node: {} },
    { city: 'Oslo', node: { name: 1 } },
    { city: 'Oslo', 'a/b': 'yes' },
    { city: 'Oslo', 'ä b%': 'yes' },
    { city: 'Oslo', town: 'x' },
    { city: 'Oslo', 'x/y': 'x' },
    { city: 'Oslo', 'größe in %': 'x' },
  ];
  for (const value of wrong) {
    const checked = server.check(value);
    assert.ok(!checked.ok, JSON.stringify(value));
    const said = Object.fromEntries(checked.errors.map(({ path, message }) => [path === '/' ? '' : path, message]));
    assert.deepEqual(await checkValue(schema, value), said, JSON.stringify(value));
  }
  assert.deepEqual(await checkValue(schema, { city: 'Oslo', days: 3 }), {});
});

test('what it cannot read is left to the server, and what has no words of ours keeps its own', async () => {
  assert.deepEqual(await checkValue({ $ref: 'https://example.com/nowhere' }, {}), {});
  const both = await checkValue({ anyOf: [{ type: 'string' }, { type: 'number' }] }, true);
  assert.ok(
    Object.values(both).every((words) => words !== ''),
    JSON.stringify(both),
  );
  assert.ok(Object.keys(both).length > 0);
});
