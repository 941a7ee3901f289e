import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileSchema } from '../../../schema/index.ts';
import { one, read, requestOf, search, sent, v3 } from './fixtures/read-document.ts';
import { parseDocument, type ImportedTool } from './index.ts';

const takes = (tool: ImportedTool | undefined, args: unknown): boolean =>
  compileSchema(tool!.argSchema).check(args, '/args').ok;
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

test('values of a query are sent as their style says, also when their schema is a reference or composed', () => {
  const schemas = {
    Filter: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } },
    Narrow: { allOf: [refTo('Filter'), { properties: { only: { type: 'boolean' } } }] },
    Ids: { type: 'array', items: { type: 'integer' } },
    Maybe: { oneOf: [refTo('Filter'), { type: 'null' }] },
  };
  const of = (parameter: object) =>
    one({ parameters: [{ name: 'f', in: 'query', ...parameter }] }, { components: { schemas } }).tools[0];
  const deep = { style: 'deepObject', explode: true };
  assert.equal(search(of({ ...deep, schema: refTo('Filter') }), { f: { name: 'a', age: 1 } }), '?f[name]=a&f[age]=1');
  assert.equal(
    search(of({ ...deep, schema: refTo('Narrow') }), { f: { age: 1, only: true } }),
    '?f[age]=1&f[only]=true',
  );
  assert.equal(search(of({ ...deep, schema: refTo('Ids') }), { f: [1, 2] }), '?f[]=1&f[]=2');
  assert.equal(search(of({ schema: refTo('Filter') }), { f: { name: 'a' } }), '?name=a');
  assert.equal(search(of({ schema: refTo('Maybe') }), { f: { name: 'a' } }), '?name=a');
  assert.equal(search(of({ schema: refTo('Ids') }), { f: [1, 2] }), '?f=1&f=2');
  assert.equal(search(of({ schema: refTo('Ids'), explode: false }), { f: [1, 2] }), '?f=1,2');
  assert.equal(search(of({ schema: refTo('Ids'), style: 'pipeDelimited' }), { f: [1, 2] }), '?f=1|2');
  assert.equal(search(of({ schema: refTo('Ids'), style: 'pipeDelimited', explode: true }), { f: [1, 2] }), '?f=1&f=2');
  assert.equal(search(of({ schema: refTo('Filter'), explode: false }), { f: { name: 'a' } }), '?f=name,a');
  const json = (name: string) => of({ content: { 'application/json': { schema: refTo(name) } } });
  assert.equal(search(json('Filter'), { f: { name: 'a' } }), '?f={"name":"a"}');
  assert.equal(search(json('Ids'), { f: [1, 2] }), '?f=[1,2]');
  const either = { anyOf: [{ type: 'integer' }, { type: 'object', properties: { gte: { type: 'integer' } } }] };
  const created = of({ ...deep, schema: either });
  assert.equal(search(created, { f: { gte: 1 } }), '?f[gte]=1');
  assert.equal(search(created, { f: 1 }), '?f=1');
  assert.equal(search(of({ schema: either }), { f: 1 }), '?f=1');
  const free = { type: 'object', additionalProperties: {} };
  assert.equal(search(of({ schema: free }), { f: { a: 1, b: ['x', 'y'] } }), '?a=1&b=x&b=y');
  assert.equal(
    search(of({ ...deep, schema: free }), { f: { a: { b: [1, 2], c: null }, d: [{ e: 'x' }, { e: 'y' }] } }),
    '?f[a][b][]=1&f[a][b][]=2&f[d][0][e]=x&f[d][1][e]=y',
  );
});

test('a list whose name says that it is one keeps its name, and joined lists of Swagger say how', () => {
  const list = { type: 'array', items: { type: 'string' } };
  const deep = { name: 'ids[]', in: 'query', style: 'deepObject', schema: list };
  assert.equal(search(one({ parameters: [deep] }).tools[0], { ids: ['a', 'b'] }), '?ids[]=a&ids[]=b');
  const parameters = ['csv', 'ssv', 'tsv', 'pipes', 'multi'].map((collectionFormat) => ({
    name: collectionFormat,
    in: 'query',
    collectionFormat,
    ...list,
  }));
  const { tools } = read({ swagger: '2.0', host: 'h.example.org', paths: { '/p': { get: { parameters } } } });
  const args = Object.fromEntries(parameters.map(({ name }) => [name, ['a', 'b,c']]));
  assert.equal(
    new URL(sent(tools[0], args).url).search,
    '?csv=a,b%2Cc&ssv=a%20b%2Cc&tsv=a%09b%2Cc&pipes=a%7Cb%2Cc&multi=a&multi=b%2Cc',
  );
});

test('what an object in a query must have is asked for', () => {
  const schema = { type: 'object', properties: { a: {} }, required: ['a'] };
  const { tools } = one({ parameters: [{ name: 'f', in: 'query', style: 'deepObject', schema }] });
  assert.deepEqual(
    [takes(tools[0], { f: {} }), takes(tools[0], { f: { a: 1 } }), takes(tools[0], {})],
    [false, true, true],
  );
});

test('cookies that are given are sent, and none begins another', () => {
  const cookie = (name: string, required = false) => ({ name, in: 'cookie', required, schema: {} });
  const { tools } = one({ parameters: [cookie('a', true), cookie('b'), cookie('c')] });
  const header = (args: Record<string, unknown>): string | undefined => sent(tools[0], args).headers['cookie'];
  assert.equal(header({ a: 1, c: 'x' }), 'a=1; c=x');
  assert.equal(header({ a: 'x; admin=1', b: 'a, "€"' }), 'a=x%3B%20admin=1; b=a%2C%20%22%E2%82%AC%22');
  assert.equal(header({ a: ['x', 'y%20z'] }), 'a=x,y%20z');
  assert.throws(() => header({ a: 'x\r\ny: z' }), /control character/);
  const alone = one({ parameters: [cookie('a')] }).tools[0];
  assert.equal(sent(alone, {}).headers['cookie'], undefined);
  const secret = { security: [{ k: [] }], parameters: [cookie('a')] };
  const securitySchemes = { k: { type: 'apiKey', in: 'cookie', name: 'sid' } };
  const both = one(secret, { components: { securitySchemes } }).tools[0];
  assert.equal(sent(both, { a: 1 }).headers['cookie'], 'sid=<PET_STORE_K>; a=1');
});

test('forms of Swagger 2.0 are sent as it takes them, and must be given where a field must', () => {
  const of = (consumes: string[], required: boolean) => {
    const parameters = [{ name: 'a', in: 'formData', type: 'string', required }];
    return read({ swagger: '2.0', host: 'h.example.org', paths: { '/p': { post: { consumes, parameters } } } })
      .tools[0];
  };
  const plain = 'application/x-www-form-urlencoded';
  assert.equal(sent(of([plain, 'multipart/form-data'], true), { body: { a: 'b c' } }).body, 'a=b%20c');
  assert.match(String(sent(of(['multipart/form-data'], true), { body: { a: 'b' } }).body), /name="a"\r\n\r\nb\r\n/);
  assert.deepEqual([takes(of([plain], true), {}), takes(of([plain], false), {})], [false, true]);
});

test('fields of a form are written as their encoding says', () => {
  const object = { type: 'object', additionalProperties: {} };
  const list = { type: 'array', items: {} };
  const Form = {
    type: 'object',
    properties: { deep: object, spread: object, plain: object, joined: list, many: list },
  };
  const encoding = {
    deep: { style: 'deepObject', explode: true },
    spread: { style: 'form' },
    joined: { explode: false },
    jsons: { contentType: 'application/json' },
  };
  const schema = { allOf: [refTo('Form'), { properties: { jsons: list } }] };
  const content = { 'application/x-www-form-urlencoded': { schema, encoding } };
  const { tools } = one({ requestBody: { content } }, { components: { schemas: { Form } } });
  const form = (body: object): string => decodeURIComponent(sent(tools[0], { body }).body ?? '');
  assert.equal(form({ deep: { a: [{ b: 1 }], c: ['x'] } }), 'deep[a][0][b]=1&deep[c][]=x');
  assert.equal(form({ spread: { a: 1, b: 2 }, plain: { a: 1 } }), 'a=1&b=2&plain={"a":1}');
  assert.equal(form({ joined: [1, 2], many: [1, 2], jsons: [1, 2] }), 'joined=1,2&many=1&many=2&jsons=[1,2]');
});

test('files, objects and lists are parts of a form as servers look for them', () => {
  const file = { type: 'string', format: 'binary' };
  const properties = { file, files: { type: 'array', items: file }, meta: { type: 'object' }, n: { type: 'integer' } };
  const typed = { picture: { type: 'string' }, all: { contentMediaType: 'application/zip' } };
  const schema = { type: 'object', properties: { ...properties, ...typed } };
  const encoding = { picture: { contentType: 'image/png, image/jpeg' } };
  const { tools } = one({ requestBody: { content: { 'multipart/form-data': { schema, encoding } } } });
  const body = { file: 'a', files: ['b', 'c'], meta: { x: 1 }, n: 5, picture: 'p', all: 'z' };
  const parts = sent(tools[0], { body })
    .body!.split(/--.*\r\n/)
    .slice(1, -1);
  const filePart = (name: string, value: string): string =>
    `Content-Disposition: form-data; name="${name}"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n${value}\r\n`;
  assert.deepEqual(parts, [
    filePart('file', 'a'),
    filePart('files', 'b'),
    filePart('files', 'c'),
    'Content-Disposition: form-data; name="meta"\r\nContent-Type: application/json\r\n\r\n{"x":1}\r\n',
    'Content-Disposition: form-data; name="n"\r\n\r\n5\r\n',
    filePart('picture', 'p'),
    filePart('all', 'z'),
  ]);
});

test('lists in a form of Swagger 2.0 are joined as they are in its queries, files are files', () => {
  const list = { in: 'formData', type: 'array', items: { type: 'string' } };
  const form = (parameters: object[]) =>
    read({ swagger: '2.0', host: 'h.example.org', paths: { '/p': { post: { parameters } } } }).tools[0];
  const lists = form([
    { name: 'a', ...list },
    { name: 'b', collectionFormat: 'multi', ...list },
  ]);
  assert.equal(sent(lists, { body: { a: ['1', '2'], b: ['3', '4'] } }).body, 'a=1,2&b=3&b=4');
  const odd = form([{ name: 'a', ...list, collectionFormat: 'constructor' }]);
  assert.deepEqual(requestOf(odd).styles, { body: { a: 'commas' } });
  const upload = form([{ name: 'f', in: 'formData', type: 'file' }]);
  assert.match(sent(upload, { body: { f: 'text' } }).body!, /name="f"; filename="f"\r\n.*\r\n\r\ntext\r\n/);
});

test('words that are said twice are said once', () => {
  const { tools } = one({ summary: 'One pet', description: 'One pet' });
  assert.equal(tools[0]!.description, 'One pet');
});

test('a reference is found by its encoded name too', () => {
  const schemas = { 'A b/c': { type: 'integer' } };
  const parameters = [{ name: 'n', in: 'query', schema: { $ref: '#/components/schemas/A%20b~1c' } }];
  assert.equal(takes(one({ parameters }, { components: { schemas } }).tools[0], { n: 'x' }), false);
});

test('a server without scheme speaks https, one with a password is none', () => {
  const at = (url: string) => read({ ...v3({ '/x': { get: {} } }), servers: [{ url }] });
  assert.equal(requestOf(at('//h.example.org/v1').tools[0]).urlTemplate, 'https://h.example.org/v1/x');
  assert.match(at('https://me:secret@h.example.org').report.skipped[0]!.reason, /carries a password/);
});

test('a property that no template can name is sent like any other', () => {
  const schema = { type: 'object', properties: { 'a.b': {}, c: {} } };
  const { tools } = one({ parameters: [{ name: 'f', in: 'query', style: 'deepObject', schema }] });
  assert.equal(search(tools[0], { f: { 'a.b': 1, c: 2 } }), '?f[a.b]=1&f[c]=2');
});

test('labels and matrix parameters stand in the path with their marks', () => {
  const of = (parameter: object) =>
    one({ parameters: [{ name: 'id', in: 'path', required: true, ...parameter }] }, {}, '/a{id}/b');
  assert.equal(sent(of({ style: 'label' }).tools[0], { id: 5 }).url, 'https://api.example.org/v1/a.5/b');
  const matrix = of({ style: 'matrix', explode: true });
  assert.equal(sent(matrix.tools[0], { id: [3, 4] }).url, 'https://api.example.org/v1/a;id=3,4/b');
  assert.match(matrix.report.notes[0]!.reason, /separated by commas/);
});

test('an optional body that is not given announces no content', () => {
  const requestBody = { content: { 'application/json': { schema: { type: 'object' } } } };
  const { tools } = read(v3({ '/x': { post: { operationId: 'op', requestBody } } }));
  assert.deepEqual([sent(tools[0], {}).headers, sent(tools[0], {}).body], [{}, null]);
  assert.deepEqual(sent(tools[0], { body: {} }).headers, { 'content-type': 'application/json' });
});

test('plain JSON is chosen before patches in JSON', () => {
  const content = { 'application/json-patch+json': {}, 'application/json; charset=utf-8': {} };
  const { tools } = one({ requestBody: { content } });
  assert.equal(requestOf(tools[0]).headers!['Content-Type'], 'application/json; charset=utf-8');
});

test('Swagger 2.0 documents with an odd host or none at all lead where they should', () => {
  const base = (more: object, baseUrl?: string) =>
    requestOf(read({ swagger: '2.0', paths: { '/p': { get: {} } }, ...more }, { baseUrl }).tools[0]).urlTemplate;
  assert.equal(base({}, 'https://h.example.org/spec/swagger.json'), 'https://h.example.org/p');
  assert.equal(base({ basePath: 'v1' }, 'https://h.example.org/spec/swagger.json'), 'https://h.example.org/v1/p');
  assert.equal(base({ host: 'h.example.org', basePath: 'v1' }), 'https://h.example.org/v1/p');
  assert.equal(base({ host: 'http://h.example.org/', basePath: '/v1' }), 'http://h.example.org/v1/p');
  assert.equal(base({ host: 'h.example.org', schemes: ['http'] }), 'http://h.example.org/p');
});

test('an address of a server that is empty is the root of where the document came from', () => {
  const document = { ...v3({ '/x': { get: {} } }), servers: [{ url: '' }] };
  const { tools } = read(document, { baseUrl: 'https://h.example.org/spec/openapi.json' });
  assert.equal(requestOf(tools[0]).urlTemplate, 'https://h.example.org/x');
});

test('what lies outside the document is told', () => {
  const { report } = read(
    v3({
      '/gone': { $ref: './gone.yaml' },
      'x-extra': 5,
      '/x': { get: { parameters: [{ $ref: 'p.yaml#/limit' }], requestBody: { $ref: 'b.yaml' } } },
    }),
  );
  assert.deepEqual(report.skipped, [{ operation: '/gone', reason: './gone.yaml is not in the document' }]);
  assert.deepEqual(
    report.notes.map((note) => note.reason),
    [
      'a parameter is left out: p.yaml#/limit is not in the document',
      'the body is left out: b.yaml is not in the document',
    ],
  );
});

test('alternatives that do not exclude each other, and null where it is allowed, are taken', () => {
  const schemas = {
    Cat: { type: 'object', properties: { purrs: { type: 'boolean' } } },
    Pet: { oneOf: [refTo('Cat'), { type: 'object', properties: { barks: { type: 'boolean' } } }] },
    Both: { oneOf: [{ required: ['a'], properties: { a: {} } }], anyOf: [{ required: ['b'], properties: { b: {} } }] },
    Closed: { type: 'object', additionalProperties: false },
    Owner: {
      type: 'object',
      properties: {
        pet: { nullable: true, description: 'whose', allOf: [refTo('Cat')] },
        cat: { nullable: true, ...refTo('Cat') },
        firm: { allOf: [refTo('Cat')] },
      },
    },
  };
  const taking = (name: string, value: unknown): boolean => {
    const requestBody = { content: { 'application/json': { schema: refTo(name) } } };
    return takes(one({ requestBody }, { components: { schemas } }).tools[0], { body: value });
  };
  assert.deepEqual(
    [taking('Pet', { purrs: true }), taking('Pet', { purrs: 1, barks: 2 }), taking('Pet', 5)],
    [true, false, false],
  );
  assert.deepEqual(
    [taking('Both', { a: 1, b: 1 }), taking('Both', { a: 1 }), taking('Both', { b: 1 })],
    [true, false, false],
  );
  assert.ok(taking('Closed', { any: 1 }), 'an object of which nothing is said is open');
  assert.deepEqual([taking('Owner', { pet: null, cat: null }), taking('Owner', { firm: null })], [true, false]);
});

test('a schema that leads back to itself, or is very large in place, costs only itself', () => {
  const circles = {
    A: refTo('B'),
    B: { allOf: [{ oneOf: [refTo('A')] }] },
    Tree: { type: 'object', properties: { child: refTo('Tree'), odd: refTo('A') } },
  };
  const of = (schema: object) =>
    one({ requestBody: { content: { 'application/json': { schema } } } }, { components: { schemas: circles } });
  assert.ok(takes(of(refTo('A')).tools[0], { body: { anything: 1 } }));
  const tree = of(refTo('Tree'));
  assert.ok(takes(tree.tools[0], { body: { child: { child: {} }, odd: 5 } }));
  assert.equal(takes(tree.tools[0], { body: { child: 5 } }), false);
  assert.match(tree.report.notes[0]!.reason, /leads back to itself/);

  const wide = (depth: number): object => ({
    type: 'object',
    description: 'a part',
    properties: Object.fromEntries(
      Array.from({ length: 8 }, (_, n) => [`p${n}`, depth === 0 ? { type: 'string' } : wide(depth - 1)]),
    ),
    required: ['p0'],
  });
  const large = of(wide(4));
  assert.match(large.report.notes[0]!.reason, /very large/);
  assert.equal(takes(large.tools[0], { body: { p0: { p0: 5 } } }), false);
  assert.ok(takes(large.tools[0], { body: { p0: { p0: { p0: {} } } } }));
  const parameters = Array.from({ length: 12 }, (_, n) => ({ name: `q${n}`, in: 'query', schema: wide(3) }));
  const several = one({ parameters });
  assert.ok(JSON.stringify(several.tools[0]!.argSchema).length < 60_000);
  assert.ok(takes(several.tools[0], { q11: {} }));
  const many = of({ anyOf: Array.from({ length: 600 }, (_, n) => ({ type: 'string', const: `c${n}` })) });
  assert.ok(takes(many.tools[0], { body: 'c599' }));
});

test('a text with a mark of its encoding is read, one that holds itself is refused', () => {
  assert.deepEqual(parseDocument('\ufeff{"openapi":"3.0.0"}'), { openapi: '3.0.0' });
  assert.deepEqual(parseDocument('\ufeffopenapi: 3.0.0'), { openapi: '3.0.0' });
  assert.throws(() => parseDocument('a: &a\n  x: *a\n  y: *a\n'), {
    code: 'import.invalid',
    message: /leads back to itself/,
  });
  assert.deepEqual(parseDocument('a: &a { b: 1 }\nc: *a'), { a: { b: 1 }, c: { b: 1 } });
});

test('a parameter with a name that every object has is an argument', () => {
  const { tools } = one({ parameters: [{ name: 'constructor', in: 'query', schema: { type: 'string' } }] });
  assert.equal(search(tools[0], { constructor_2: 'x' }), '?constructor=x');
});
