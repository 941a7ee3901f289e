import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../../test/kit/fast-check.ts';
import { compileSchema, isSlug } from '../../../schema/index.ts';
import { compileRequest } from '../request-plan.ts';
import { one, propertiesOf, read, requestOf, v3 } from './fixtures/read-document.ts';
import { slugify, Slugs } from './slugs.ts';

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

test('objects in a query are spread as their style says, lists are joined as theirs', () => {
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
    filter: '${filter}',
    page: '${page}',
    ids: '${ids}',
    json: '${json}',
    'a[]': '${a}',
  });
  assert.deepEqual(requestOf(tools[0]).styles, {
    query: { filter: 'deepObject', page: 'exploded', ids: 'commas', json: 'json' },
  });
  assert.equal(propertiesOf(tools[0])['ids']!['type'], 'array');
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
    styles: { query: { l: 'commas' } },
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
