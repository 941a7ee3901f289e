import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../../test/kit/fast-check.ts';
import { compileSchema, isSlug } from '../../../schema/index.ts';
import { compileRequest } from '../request-plan.ts';
import { one, read, requestOf, v3 } from './fixtures/read-document.ts';
import { importOpenApi, parseDocument } from './index.ts';

test('schemas that documents get wrong still compile', () => {
  const odd = [
    { type: 'any' },
    { type: 'string', enum: [] },
    { type: 'integer', required: true },
    { minimum: 1, exclusiveMinimum: true },
    { pattern: '[' },
    { type: ['string', 'file'] },
    { items: [] },
    { oneOf: [] },
    { properties: { a: null } },
    { required: ['nope'], properties: {} },
    { type: 'array' },
    { format: 'odd', default: {} },
    { additionalProperties: 'yes' },
    null,
    5,
    'x',
    [],
    { minLength: -1 },
    { multipleOf: 0 },
    { $ref: 5 },
    { enum: [null], type: 'string', nullable: true },
  ];
  for (const schema of odd) {
    const { tools } = one({ parameters: [{ name: 'p', in: 'query', schema }] });
    assert.doesNotThrow(() => compileSchema(tools[0]!.argSchema), JSON.stringify(schema));
  }
});

test('a schema that would be huge is cut, not carried along', () => {
  const schemas = Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [
      `S${i}`,
      {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 20 }, (__, j) => [`p${j}`, { $ref: `#/components/schemas/S${(i * 7 + j) % 300}` }]),
        ),
      },
    ]),
  );
  const { tools, report } = read(
    v3(
      {
        '/x': {
          post: { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } } } },
        },
      },
      { components: { schemas } },
    ),
  );
  assert.ok(JSON.stringify(tools[0]).length < 120_000);
  assert.match(report.notes[0]!.reason, /very large/);
  assert.doesNotThrow(() => compileSchema(tools[0]!.argSchema));
});

test('what is no document is refused with its reason', () => {
  const refused = (root: unknown, reason: RegExp) =>
    assert.throws(
      () => importOpenApi(root),
      (error: { code: string; message: string }) => error.code === 'import.invalid' && reason.test(error.message),
    );
  refused(null, /no object/);
  refused([], /no object/);
  refused({}, /version/);
  refused({ openapi: '4.0.0', paths: {} }, /4\.0\.0/);
  refused({ swagger: '1.2', paths: {} }, /1\.2/);
  refused({ openapi: '3.1.0' }, /no paths/);
  assert.throws(() => parseDocument('{ "a": '), /neither JSON nor YAML/);
  assert.throws(() => parseDocument('a: [b'), /neither JSON nor YAML/);
  assert.deepEqual(parseDocument('openapi: 3.1.0\npaths: {}\n'), { openapi: '3.1.0', paths: {} });
});

test('a name that looks like a placeholder stays a name', () => {
  const parameters = [{ name: '${', in: 'cookie', required: true, schema: {} }];
  const { tools } = read({
    openapi: '3.1.0',
    servers: [{ url: 'https://example.org' }],
    paths: { '/': { get: { operationId: 'odd', parameters } } },
  });
  const { headers } = compileRequest(requestOf(tools[0]!), tools[0]!.argSchema).build({
    args: { [Object.keys((tools[0]!.argSchema as { properties: object }).properties)[0]!]: 'x' },
    secret: () => '',
    own: () => '',
  });
  assert.deepEqual(Object.values(headers), ['${=x']);
});

test('where a text belongs, an object that cannot be made one is none', () => {
  const odd = { toString: 1 };
  const { tools } = read({
    openapi: '3.1.0',
    info: { title: odd, description: odd },
    servers: [{ url: 'https://{host}.example.org', variables: { host: { default: odd } } }],
    components: { securitySchemes: { a: { type: odd, scheme: odd }, b: { type: 'apiKey', in: odd, name: odd } } },
    security: [{ a: [] }, { b: [] }],
    paths: { '/': { get: { summary: odd, description: odd, parameters: [{ name: 'x', in: odd }, { name: odd }] } } },
  });
  assert.deepEqual(
    tools.map(({ slug, displayName }) => ({ slug, displayName })),
    [{ slug: 'get', displayName: 'GET /' }],
  );
  assert.throws(() => read({ openapi: odd, paths: {} }), { code: 'import.invalid' });
});

test('no document whatever breaks the import, and every tool it yields can be stored', () => {
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom('#/components/schemas/A', 'path', 'query', 'header', 'body', 'string', 'object'),
  );
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(
          fc.string(),
          fc.constantFrom(
            '$ref',
            'name',
            'in',
            'schema',
            'type',
            'properties',
            'required',
            'content',
            'application/json',
            'allOf',
            'items',
            'enum',
            'style',
            'toString',
          ),
        ),
        tie('value'),
        { maxKeys: 4 },
      ),
    ),
  })).value;
  const operation = fc.record({
    operationId: leaf,
    summary: leaf,
    tags: anything,
    parameters: fc.array(
      fc.oneof(
        anything,
        fc.record({ name: leaf, in: fc.constantFrom('path', 'query', 'header', 'cookie', 'body'), schema: anything }),
      ),
    ),
    requestBody: anything,
    security: anything,
    servers: anything,
  });
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.string().map((each) => `/${each}`),
        fc.record({ get: operation, post: operation }),
        { maxKeys: 3 },
      ),
      anything,
      anything,
      (paths, components, security) => {
        const { tools } = read({
          openapi: '3.1.0',
          paths,
          components,
          security,
          servers: [{ url: 'https://example.org' }],
        });
        for (const tool of tools) {
          assert.ok(isSlug(tool.slug) && tool.displayName.trim() !== '');
          compileSchema(tool.argSchema);
          compileRequest(requestOf(tool), tool.argSchema);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('schemas of the same name are told apart in the tool that needs both, and in no other', () => {
  const body = (ref: string) => ({ requestBody: { content: { 'application/json': { schema: { $ref: ref } } } } });
  const both = { properties: { a: { $ref: '#/components/schemas/Pet' }, b: { $ref: '#/components/x-old/Pet' } } };
  const { bySlug } = read(
    v3(
      {
        '/new': { post: { operationId: 'new', ...body('#/components/schemas/Pet') } },
        '/old': { post: { operationId: 'old', ...body('#/components/x-old/Pet') } },
        '/both': { post: { operationId: 'both', ...body('#/components/schemas/Both') } },
      },
      {
        components: {
          schemas: {
            Pet: { properties: { owner: { $ref: '#/components/schemas/Owner' } } },
            Owner: { type: 'string' },
            Both: both,
          },
          'x-old': { Pet: { properties: { next: { $ref: '#/components/x-old/Pet' } } } },
        },
      },
    ),
  );
  const definitions = (slug: string) => (bySlug[slug]!.argSchema as { $defs: object }).$defs;
  const owned = { type: 'object', properties: { owner: { $ref: '#/$defs/Owner' } } };
  const chained = (name: string) => ({ type: 'object', properties: { next: { $ref: `#/$defs/${name}` } } });
  assert.deepEqual(definitions('new'), { Pet: owned, Owner: { type: 'string' } });
  assert.deepEqual(definitions('old'), { Pet: chained('Pet') });
  assert.deepEqual(definitions('both'), {
    Both: { type: 'object', properties: { a: { $ref: '#/$defs/Pet' }, b: { $ref: '#/$defs/Pet_2' } } },
    Pet: owned,
    Pet_2: chained('Pet_2'),
    Owner: { type: 'string' },
  });
});
