import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { compileSchema } from './json-schema.ts';
import { compilesForSure } from './json-schema-plain.ts';

const step = 'oubliette:step';

it('holds only schemas for sure that the validator compiles', () => {
  const names = fc.constantFrom('a', 'b/c', 'd~e', 'toString');
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4 },
      fc.boolean(),
      fc.record(
        {
          type: fc.constantFrom('object', 'string', ['integer', 'null']),
          properties: fc.dictionary(names, tie('schema'), { maxKeys: 3 }),
          required: fc.uniqueArray(names),
          items: tie('schema'),
          additionalProperties: tie('schema'),
          anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
          enum: fc.array(fc.jsonValue(), { maxLength: 2 }),
          default: fc.jsonValue(),
          pattern: fc.constantFrom('^a+$', '(?=x)y'),
          format: fc.constantFrom('email', 'unheard-of'),
          $defs: fc.dictionary(names, tie('schema'), { maxKeys: 2 }),
          $ref: fc.constantFrom('#', '#/properties/a', '#/$defs/b~1c', '#/$defs/d~0e', '#/enum/0', '#/nowhere', 'other.json'),
        },
        { requiredKeys: [] },
      ),
    ),
  }));
  let sure = 0;
  fc.assert(
    fc.property(schema, (each) => {
      if (!compilesForSure(each, step)) return;
      sure++;
      new Ajv({ strict: false, validateSchema: false, logger: false, inlineRefs: false, useDefaults: true }).compile(each as object);
    }),
    { numRuns: 1000 },
  );
  assert.ok(sure > 200, `${sure} of 1000`);
});

it('is not sure of what leads outside, to no schema, or means something that the validator may refuse', () => {
  for (const schema of [
    { $ref: '#/nowhere' },
    { enum: [{}], properties: { a: { $ref: '#/enum/0' } } },
    { $ref: 'https://example.com/x' },
    { $id: 'x' },
    { nullable: true },
    { enum: [] },
    { properties: { a: { unheardOf: {} } } },
    { properties: JSON.parse('{"__proto__":{}}') },
  ])
    assert.equal(compilesForSure(schema, step), false, JSON.stringify(schema));
});

it('compiles at the first check what it was sure of, and refuses the rest at once', () => {
  const compiled = compileSchema({ type: 'object', properties: { n: { $ref: '#/$defs/n' } }, $defs: { n: { type: 'integer' } } });
  assert.equal(compiled.check({ n: 1 }).ok, true);
  assert.equal(compiled.check({ n: 'x' }).ok, false);
  assert.throws(() => compileSchema({ properties: { a: { $ref: '#/$defs/none' } } }), { code: 'request.invalid' });
});
