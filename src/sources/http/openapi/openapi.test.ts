import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileSchema, isSlug } from '../../../schema/index.ts';
import { compileRequest } from '../request-plan.ts';
import { importOpenApi, parseDocument, type ImportedTool, type ImportOptions } from './index.ts';
import { slugify, Slugs } from './slugs.ts';

function read(document: unknown, options?: ImportOptions) {
  const made = importOpenApi(document, options);
  const tools = [...made.tools];
  return {
    ...made,
    tools,
    bySlug: Object.fromEntries(tools.map((tool) => [tool.slug, tool])) as Record<string, ImportedTool>,
  };
}
const v3 = (paths: object, more: object = {}): object => ({
  openapi: '3.0.3',
  info: { title: 'Pet Store API', version: '1' },
  servers: [{ url: 'https://api.example.org/v1' }],
  paths,
  ...more,
});
const one = (operation: object, more: object = {}, path = '/x') =>
  read(v3({ [path]: { get: { operationId: 'op', ...operation } } }, more));
const requestOf = (tool: ImportedTool | undefined) => tool!.httpImpl!.request;
const propertiesOf = (tool: ImportedTool | undefined) =>
  (tool!.argSchema as { properties: Record<string, Record<string, unknown>> }).properties;

test('an operation becomes a tool with its address, arguments and words', () => {
  const { tools, report, bundle } = read(
    v3({
      '/pets/{petId}': {
        parameters: [
          { name: 'petId', in: 'path', required: true, schema: { type: 'integer' }, description: 'Which pet' },
        ],
        get: {
          operationId: 'getPetById',
          summary: 'One pet',
          description: 'Looks a pet up.',
          tags: ['pets', 'Read Only!'],
          parameters: [
            { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
            { name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          ],
        },
        delete: { summary: 'Remove it' },
      },
    }),
  );
  assert.deepEqual(bundle, { slug: 'pet-store', displayName: 'Pet Store API' });
  assert.deepEqual(
    tools.map((tool) => tool.slug),
    ['get-pet-by-id', 'delete-pets-pet-id'],
  );
  assert.deepEqual(requestOf(tools[0]), {
    method: 'GET',
    urlTemplate: 'https://api.example.org/v1/pets/${petId}',
    query: { fields: '${fields}' },
    headers: { 'X-Trace': '${X_Trace}' },
  });
  assert.equal(tools[0]!.displayName, 'One pet');
  assert.equal(tools[0]!.description, 'One pet\nLooks a pet up.');
  assert.deepEqual(tools[0]!.tags, ['pets', 'read-only']);
  assert.deepEqual((tools[0]!.argSchema as { required: string[] }).required, ['petId']);
  assert.deepEqual(propertiesOf(tools[0])['petId'], { type: 'integer', description: 'Which pet' });
  assert.deepEqual([report.operations, report.imported, report.hosts], [2, 2, ['api.example.org']]);
});

test('bodies are one argument, sent as what the document says they are', () => {
  const body = (content: object, required = true) =>
    read(v3({ '/x': { post: { operationId: 'op', requestBody: { required, content } } } })).tools[0];
  const json = body({
    'text/plain': {},
    'application/json': {
      schema: {
        type: 'object',
        properties: { a: { type: 'string' }, id: { type: 'string', readOnly: true } },
        required: ['a', 'id'],
      },
    },
  });
  assert.deepEqual(
    [requestOf(json).body, requestOf(json).headers],
    ['${body}', { 'Content-Type': 'application/json' }],
  );
  assert.deepEqual(propertiesOf(json)['body'], {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
  });
  assert.deepEqual(requestOf(body({ 'application/x-www-form-urlencoded': { schema: { type: 'object' } } })).headers, {
    'Content-Type': 'application/x-www-form-urlencoded',
  });
  assert.deepEqual(propertiesOf(body({ 'application/xml': { schema: { type: 'object' } } }))['body'], {
    type: 'string',
  });
  assert.equal((body({ '*/*': {} }, false)!.argSchema as { required?: string[] }).required, undefined);
});

test('references are kept as definitions, also when they lead in circles', () => {
  const { tools } = read(
    v3(
      { '/x': { post: { operationId: 'op', requestBody: { $ref: '#/components/requestBodies/Node' } } } },
      {
        components: {
          requestBodies: {
            Node: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Node' } } } },
          },
          schemas: {
            Node: {
              type: 'object',
              nullable: true,
              properties: {
                next: { $ref: '#/components/schemas/Node' },
                'a/b': { $ref: '#/components/schemas/Odd~1Name' },
              },
            },
            'Odd/Name': { type: 'string', enum: ['x', 'x', 3] },
          },
        },
      },
    ),
  );
  const schema = tools[0]!.argSchema as Record<string, unknown>;
  assert.deepEqual(schema['$defs'], {
    Node: {
      type: ['object', 'null'],
      properties: { next: { $ref: '#/$defs/Node' }, 'a/b': { $ref: '#/$defs/Odd_1Name' } },
    },
    Odd_1Name: { type: 'string', enum: ['x'] },
  });
  const check = compileSchema(schema);
  assert.equal(check.check({ body: { next: { next: null } } }, '').ok, true);
  assert.equal(check.check({ body: { next: 5 } }, '').ok, false);
});

test('a document whose references circle among parameters or lead nowhere costs at most those', () => {
  const { tools, report } = one(
    {
      parameters: [
        { $ref: '#/components/parameters/A' },
        { $ref: '#/nowhere' },
        { $ref: 'other.yaml#/x' },
        { name: 'ok', in: 'query', schema: { $ref: '#/components/schemas/Gone' } },
      ],
    },
    {
      components: {
        parameters: { A: { $ref: '#/components/parameters/B' }, B: { $ref: '#/components/parameters/A' } },
      },
    },
  );
  assert.deepEqual(Object.keys(propertiesOf(tools[0])), ['ok']);
  assert.equal(report.imported, 1);
});

test('objects in a query are spread as their style says, joined lists become text', () => {
  const { tools } = one({
    parameters: [
      {
        name: 'filter',
        in: 'query',
        style: 'deepObject',
        schema: { type: 'object', properties: { name: {}, age: {} } },
      },
      { name: 'page', in: 'query', schema: { type: 'object', properties: { size: {} } } },
      { name: 'ids', in: 'query', explode: false, schema: { type: 'array', items: { type: 'string' } } },
      {
        name: 'json',
        in: 'query',
        content: { 'application/json': { schema: { type: 'object', properties: { a: {} } } } },
      },
      { name: 'a[]', in: 'query', schema: { type: 'array', items: {} } },
      { name: 'session', in: 'cookie', schema: { type: 'string' } },
    ],
  });
  assert.deepEqual(requestOf(tools[0]).query, {
    'filter[name]': '${filter.name}',
    'filter[age]': '${filter.age}',
    size: '${page.size}',
    ids: '${ids}',
    json: '${json}',
    'a[]': '${a}',
  });
  assert.equal(propertiesOf(tools[0])['ids']!['type'], 'string');
  assert.equal(requestOf(tools[0]).headers!['Cookie'], 'session=${session}');
});

test('an API whose name begins with a digit has secrets that can be set', () => {
  const securitySchemes = { main: { type: 'http', scheme: 'bearer' } };
  const made = one(
    { security: [{ main: [] }] },
    { info: { title: '1Password Über', version: '1' }, components: { securitySchemes } },
  );
  assert.deepEqual(requestOf(made.tools[0]).auth, { type: 'bearer', value: '${_1_PASSWORD_BER_MAIN_TOKEN}' });
  compileRequest(requestOf(made.tools[0]), made.tools[0]!.argSchema);
});

test('the way to sign in becomes auth with secrets', () => {
  const auth = (scheme: object, scopes: string[] = []) =>
    one({ security: [{ main: scopes }] }, { components: { securitySchemes: { main: scheme } } });
  assert.deepEqual(requestOf(auth({ type: 'apiKey', in: 'header', name: 'X-Key' }).tools[0]).auth, {
    type: 'apiKey',
    in: 'header',
    name: 'X-Key',
    value: '${PET_STORE_MAIN}',
  });
  assert.deepEqual(requestOf(auth({ type: 'http', scheme: 'bearer' }).tools[0]).auth, {
    type: 'bearer',
    value: '${PET_STORE_MAIN_TOKEN}',
  });
  assert.deepEqual(requestOf(auth({ type: 'http', scheme: 'Basic' }).tools[0]).headers, {
    Authorization: 'Basic ${PET_STORE_MAIN_BASIC}',
  });
  assert.deepEqual(
    requestOf(
      auth({ type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://login.example.org/token' } } }, [
        'read',
        'write',
      ]).tools[0],
    ).auth,
    {
      type: 'oauth2',
      grant: 'client_credentials',
      tokenUrl: 'https://login.example.org/token',
      clientId: '${PET_STORE_MAIN_CLIENT_ID}',
      clientSecret: '${PET_STORE_MAIN_CLIENT_SECRET}',
      scope: 'read write',
    },
  );
  assert.deepEqual(
    requestOf(auth({ type: 'oauth2', flows: { authorizationCode: { tokenUrl: '/x' } } }).tools[0]).auth,
    { type: 'bearer', value: '${PET_STORE_MAIN_TOKEN}' },
  );
  assert.deepEqual(
    auth({ type: 'http', scheme: 'digest' }).report.notes.map((note) => note.reason),
    ['sent without credentials: signing in by digest is not supported'],
  );
  assert.equal(auth({ type: 'apiKey', in: 'query', name: 'key' }).report.secrets[0]!.name, 'PET_STORE_MAIN');
  assert.equal(
    requestOf(
      one(
        { security: [{}, { main: [] }] },
        { components: { securitySchemes: { main: { type: 'http', scheme: 'bearer' } } } },
      ).tools[0],
    ).auth,
    undefined,
  );
});

test('Swagger 2.0 documents are read too', () => {
  const { tools, report } = read({
    swagger: '2.0',
    info: { title: 'Old' },
    host: 'old.example.org',
    basePath: '/api/',
    schemes: ['http', 'https'],
    consumes: ['application/json'],
    securityDefinitions: { key: { type: 'apiKey', in: 'query', name: 'k' } },
    security: [{ key: [] }],
    definitions: { Thing: { type: 'object' } },
    paths: {
      '/a': {
        post: {
          operationId: 'A',
          parameters: [
            { in: 'body', name: 'thing', required: true, schema: { $ref: '#/definitions/Thing' } },
            { in: 'query', name: 'l', type: 'array', items: { type: 'string' } },
          ],
        },
      },
      '/f': {
        post: {
          operationId: 'F',
          parameters: [
            { in: 'formData', name: 'file', type: 'file' },
            { in: 'formData', name: 'n', type: 'integer', required: true },
          ],
        },
      },
    },
  });
  assert.deepEqual(requestOf(tools[0]), {
    method: 'POST',
    urlTemplate: 'https://old.example.org/api/a',
    query: { l: '${l}' },
    headers: { 'Content-Type': 'application/json' },
    body: '${body}',
    auth: { type: 'apiKey', in: 'query', name: 'k', value: '${OLD_KEY}' },
  });
  assert.equal(requestOf(tools[1]).headers!['Content-Type'], 'multipart/form-data');
  assert.equal(report.imported, 2);
});

test('servers with variables, relative servers and servers without host are told apart', () => {
  const at = (servers: unknown[], baseUrl?: string) =>
    read({ ...v3({ '/x': { get: { operationId: 'op' } } }), servers }, { baseUrl });
  assert.equal(
    requestOf(
      at([{ url: 'https://{region}.example.org/{v}', variables: { region: { default: 'eu' }, v: { default: 'v2' } } }])
        .tools[0],
    ).urlTemplate,
    'https://eu.example.org/v2/x',
  );
  assert.equal(
    requestOf(at([{ url: '/api' }], 'https://docs.example.org/spec/openapi.json').tools[0]).urlTemplate,
    'https://docs.example.org/api/x',
  );
  assert.match(at([{ url: '/api' }]).report.skipped[0]!.reason, /no host/);
  assert.match(at([{ url: 'https://{tenant}.example.org' }]).report.skipped[0]!.reason, /variable/);
  assert.match(at([{ url: 'wss://example.org' }]).report.skipped[0]!.reason, /wss/);
  assert.equal(
    requestOf(at([{ url: 'https://example.org/{tenant}' }]).tools[0]).urlTemplate,
    'https://example.org/${tenant}/x',
  );
});

test('what a path names without describing it is an argument, and nothing in it is a placeholder by accident', () => {
  const { tools } = read(v3({ "/a/{id}/b(p='{q}')/${x}/{+rest}#frag": { get: { operationId: 'op' } } }));
  const plan = compileRequest(requestOf(tools[0]), tools[0]!.argSchema);
  const built = plan.build({ args: { id: '1', q: '2', x: '3', rest: 'a/b' }, secret: () => '' });
  assert.equal(built.url, "https://api.example.org/v1/a/1/b(p='2')/%243/a%2Fb");
});

test('names are readable, unique and short enough', () => {
  assert.equal(slugify('getHTTPResponseCode_v2'), 'get-http-response-code-v2');
  assert.equal(slugify('Größe ändern'), 'größe-ändern');
  const slugs = new Slugs();
  assert.deepEqual(
    [slugs.take('a b'), slugs.take('A-B', 'get /a'), slugs.take('a_b', 'get /a'), slugs.take('a b')],
    ['a-b', 'get-a', 'a-b-2', 'a-b-3'],
  );
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 200 })), (wishes) => {
      const fresh = new Slugs();
      const made = wishes.map((wish) => fresh.take(wish));
      assert.ok(made.every(isSlug));
      assert.equal(new Set(made).size, made.length);
    }),
  );
});

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
