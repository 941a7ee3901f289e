import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from '../../test/kit/fast-check.ts';
import { checkSchema, compileSchema } from './json-schema.ts';
import { inspectSchema } from './json-schema-guard.ts';
import { isPlainSchema } from './json-schema-plain.ts';
import { isPattern } from './safe-pattern.ts';

const step = 'oubliette:step';
const metas = {
  '07': new Ajv({ strict: false }),
  '2019': new Ajv2019({ strict: false }),
  '2020': new Ajv2020({ strict: false }),
};
for (const meta of Object.values(metas)) {
  formats.default(meta);
  meta.addFormat('regex', isPattern);
}

/** Mostly what a keyword wants, sometimes anything: also what JSON cannot say. */
const odd = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, NaN, Infinity, new Date(0), new Map(), [undefined]));
const mostly = (right: fc.Arbitrary<unknown>, wrong = odd): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: right, weight: 40 }, { arbitrary: wrong, weight: 1 });

const names = fc.constantFrom('a', 'b/c', 'd~e', 'toString', '$ref', '$id', '$anchor', 'constructor');
const numbers = mostly(fc.constantFrom(0, -1.5, 3, 1e300));
const counts = mostly(fc.constantFrom(0, 1, 7));
const flags = mostly(fc.boolean());
const values = mostly(fc.jsonValue());
const texts = mostly(fc.string({ maxLength: 5 }));
const wrongTypes = fc.constantFrom('file', [], ['null', 'null'], [1]);
const wrongRefs = fc.constantFrom('#/enum/0', '#/anyOf/0', '#/nowhere', '#/$defs/a b', '#/$defs/', '#a', 'other.json');
const dialects = mostly(
  fc.constantFrom(
    undefined,
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://json-schema.org/draft/2020-12/schema',
  ),
  fc.constant('https://json-schema.org/draft/2020-12/schemas'),
);
const unknowns = fc.constantFrom(
  { [step]: true },
  { nullable: true },
  { $id: 'a' },
  { $schema: 'http://json-schema.org/draft-07/schema#' },
);
const { schema: parts } = fc.letrec<{ schema: unknown }>((tie) => {
  const schema = tie('schema');
  const map = mostly(fc.dictionary(names, schema, { maxKeys: 3 }));
  const list = mostly(fc.array(schema, { minLength: 1, maxLength: 3 }));
  const keywords = {
    title: texts,
    description: texts,
    $comment: texts,
    default: values,
    examples: mostly(fc.array(fc.jsonValue(), { maxLength: 2 })),
    readOnly: flags,
    writeOnly: flags,
    deprecated: flags,
    type: mostly(
      fc.oneof(fc.constantFrom('object', 'string'), fc.subarray(['integer', 'null', 'array'], { minLength: 1 })),
      wrongTypes,
    ),
    enum: mostly(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 2 }), fc.constantFrom([], [1, 1], [{}, {}])),
    const: values,
    format: mostly(fc.constantFrom('email', 'unheard-of')),
    pattern: mostly(fc.constantFrom('^a+$', '(?=x)y', '\\-'), fc.constant('(')),
    properties: map,
    required: mostly(fc.uniqueArray(names), fc.constant(['a', 'a'])),
    additionalProperties: mostly(schema),
    items: mostly(schema),
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: mostly(schema),
    minimum: numbers,
    maximum: numbers,
    exclusiveMinimum: numbers,
    exclusiveMaximum: numbers,
    multipleOf: mostly(fc.constantFrom(0.5, 2), fc.constant(0)),
    minLength: counts,
    maxLength: counts,
    minItems: counts,
    maxItems: counts,
    uniqueItems: flags,
    minProperties: counts,
    maxProperties: counts,
    $defs: map,
    definitions: map,
    $ref: mostly(
      fc.constantFrom('#/$defs/a', '#/$defs/b~1c', '#/$defs/d~0e', '#', '#/properties/a', '#/$defs/a/items'),
      wrongRefs,
    ),
  };
  const some = fc
    .subarray(Object.entries(keywords), { maxLength: 6 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen)));
  const ref = fc.record({ $ref: keywords.$ref });
  const either = fc.oneof(fc.boolean(), { arbitrary: some, weight: 8 }, { arbitrary: ref, weight: 4 });
  return { schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), { arbitrary: mostly(either, unknowns), weight: 12 }) };
});
/** With a dialect, and something for references to lead to. */
const schemas = fc
  .tuple(parts, dialects, fc.dictionary(names, parts, { maxKeys: 4 }))
  .map(([schema, $schema, $defs]) => {
    if (typeof schema !== 'object') return schema;
    return { ...schema, ...($schema !== undefined && { $schema }), ...(Object.keys($defs).length > 0 && { $defs }) };
  });

it('has no doubt only about schemas that pass every check and compile', () => {
  let plain = 0;
  let withRef = 0;
  fc.assert(
    fc.property(schemas, (schema) => {
      if (!isPlainSchema(schema)) return;
      plain++;
      const text = JSON.stringify(schema);
      if (text.includes('"$ref":"#')) withRef++;
      // What comes back from the disk is as good as what was given.
      for (const each of [schema, JSON.parse(text)]) {
        const { counted, dialect } = inspectSchema(each, text, '');
        assert.equal(metas[dialect].validateSchema(counted), true, JSON.stringify(metas[dialect].errors));
        // Asking for these makes it compile.
        assert.ok(compileSchema(each, { defaults: true }).uncheckedPatterns);
      }
    }),
    { numRuns: 2500 },
  );
  assert.ok(plain > 400 && withRef > 20, `${plain} plain, ${withRef} with a reference`);
});

it('doubts what leads outside, to no schema or in a circle, and what the validator may refuse', () => {
  for (const schema of [
    { $ref: '#/nowhere' },
    { enum: [{}], properties: { a: { $ref: '#/enum/0' } } },
    { $ref: 'https://example.com/x' },
    { $ref: '#' },
    { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{}, { $ref: '#/$defs/a' }] } } },
    { $ref: '#/properties/a', properties: { a: {} } },
    { $id: 'x' },
    { nullable: true },
    { enum: [] },
    { enum: ['a', 'a'] },
    { properties: { a: { unheardOf: {} } } },
    { properties: JSON.parse('{"__proto__":{}}') },
    { $ref: '#/$defs/a', $defs: { a: {}, $id: {} } },
    { properties: { a: { $schema: 'https://json-schema.org/draft/2020-12/schema' } } },
    { $schema: 'https://json-schema.org/draft/2022-12/schema' },
  ])
    assert.equal(isPlainSchema(schema), false, JSON.stringify(schema));
});

it('doubts what is too long, too deep or too much, and what comes close is no doubt', () => {
  const nested = (depth: number): object => (depth === 0 ? {} : { items: nested(depth - 1) });
  const wide = (count: number): object => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, {}])),
  });
  const long = (length: number): object => ({ description: 'x'.repeat(length - '{"description":""}'.length) });
  for (const [make, most] of [
    [nested, 64],
    [wide, 1999],
    [long, 256 * 1024],
    [(count: number) => ({ anyOf: Array<object>(count).fill({}) }), 500],
  ] as const) {
    assert.equal(isPlainSchema(make(most)), true, `${most}`);
    assert.equal(isPlainSchema(make(most + 1)), false, `${most + 1}`);
    assert.throws(() => checkSchema(make(most + 1), '/argSchema'), { code: 'request.invalid' });
  }
});

it('compiles at the first check what it did not doubt, and refuses the rest at once', () => {
  const compiled = compileSchema({
    type: 'object',
    properties: { n: { $ref: '#/$defs/n' } },
    $defs: { n: { type: 'integer' } },
  });
  assert.equal(compiled.check({ n: 1 }).ok, true);
  assert.equal(compiled.check({ n: 'x' }).ok, false);
  for (const take of [compileSchema, (schema: unknown) => checkSchema(schema, '')])
    assert.throws(() => take({ properties: { a: { $ref: '#/$defs/none' } } }), { code: 'request.invalid' });
});

it('says the same about a schema that is only checked as about one that is compiled', () => {
  const messageOf = (work: () => unknown): string | undefined => {
    try {
      work();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  let refused = 0;
  fc.assert(
    fc.property(schemas, (schema) => {
      const message = messageOf(() => compileSchema(schema, { at: '/argSchema' }));
      assert.equal(
        messageOf(() => checkSchema(schema, '/argSchema')),
        message,
      );
      if (message !== undefined) refused++;
    }),
    { numRuns: 300 },
  );
  assert.ok(refused > 20, `${refused} refused`);
});
