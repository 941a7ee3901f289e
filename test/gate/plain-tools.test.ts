import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { bundleBody, toolBody } from '../kit/catalog.ts';
import { comparable, RawPosts, type Wish } from '../kit/raw-posts.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';

// Plain PUTs of tools do not pass the router; written otherwise, the same requests do. Both must be answered alike.
let server: TestServer;
let raw: RawPosts;
let reader: string;
let builtIn: string;
const bundle = randomUUIDv7();
const off = randomUUIDv7();
const tool = (slug: string, version = 'v1', of: string = bundle): string =>
  `/tools/bundles/${of}/tools/${slug}/version/${version}`;

before(async () => {
  server = await startTestServer();
  raw = new RawPosts(server, '', 'application/json');
  await server.fetch(`/tools/bundles/${bundle}`, { method: 'PUT', json: bundleBody('mine') });
  await server.fetch(`/tools/bundles/${off}`, { method: 'PUT', json: bundleBody('off', { isEnabled: false }) });
  await server.fetch(tool('taken'), { method: 'PUT', json: toolBody() });
  const minted = await server.fetch('/call/token_create', {
    method: 'POST',
    json: { args: { name: 'reader', scope: 'read' } },
  });
  reader = ((await minted.json()) as { value: { token: string } }).value.token;
  const found = await server.fetch('/tools/tools/search?q=demo+foo');
  builtIn = ((await found.json()) as { tools: { bundleID: string }[] }).tools[0]!.bundleID;
});
after(() => server.stop());

/** Without what is made anew for each tool. */
const like = (answer: string): string =>
  comparable(answer)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}/g, 'id')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
    .replace(/(made|routed)-(\d+)/g, 'slug-$2')
    .replace(/mine_(made|routed)_(\d+)/g, 'name_$2')
    .replace(/content-length: \d+/, 'content-length');

test('whatever is put is answered alike with and without the router', async () => {
  const wide = {
    tags: ['a', 'b'],
    description: 'ö "quoted" \u2028',
    argSchema: { type: 'object', properties: { a: { pattern: '^a+$' } } },
  };
  const cases: [what: string, status: number, body: unknown, wish?: Wish][] = [
    ['a tool', 201, toolBody()],
    ['a tool with all kinds of text', 201, toolBody(wide)],
    ['a tool that is switched off', 201, toolBody({ isEnabled: false })],
    ['a version with dots', 201, toolBody(), { path: tool('SLUG', '1.2.3-beta') }],
    ['a tool that is there', 409, toolBody(), { path: tool('taken') }],
    ['a field too many', 400, toolBody({ more: 1 })],
    ['a field too few', 400, { displayName: 'x' }],
    ['a type that is unknown', 400, toolBody({ type: 'magic' })],
    ['a schema that is none', 400, toolBody({ argSchema: { type: 'nothing' } })],
    ['no object', 400, '[]'],
    ['nesting without end', 400, `{"argSchema":${'['.repeat(5000)}${']'.repeat(5000)}}`],
    ['broken JSON', 400, '{"displayName":'],
    ['bytes that are no text', 400, Buffer.from([0x7b, 0xff, 0x7d])],
    ['a prototype', 400, '{"__proto__":{}}'],
    ['an empty body', 400, ''],
    ['a slug that is none', 400, toolBody(), { path: tool('a_b') }],
    ['a slug with escapes', 400, toolBody(), { path: tool('a%20b') }],
    ['a bundle that is not there', 404, toolBody(), { path: tool('SLUG', 'v1', randomUUIDv7()) }],
    ['a bundle that is none', 404, toolBody(), { path: tool('SLUG', 'v1', '-'.repeat(36)) }],
    ['a bundle that is switched off', 409, toolBody(), { path: tool('SLUG', 'v1', off) }],
    ['a bundle that is built in', 403, toolBody(), { path: tool('SLUG', 'v1', builtIn) }],
    ['no token', 401, toolBody(), { headers: { authorization: '' } }],
    ['a wrong token', 401, toolBody(), { token: `oub_${'x'.repeat(43)}` }],
    ['a token that may not', 403, toolBody(), { token: reader }],
    ['a foreign host', 403, toolBody(), { headers: { host: 'evil.example' } }],
    ['a foreign origin', 403, toolBody(), { headers: { origin: 'https://evil.example' } }],
    ['another media type', 415, '<a/>', { headers: { 'content-type': 'text/xml' } }],
    ['another encoding', 415, toolBody(), { headers: { 'content-encoding': 'gzip' } }],
  ];
  for (const [n, [what, status, body, wish]] of cases.entries()) {
    const path = (slug: string): string => wish?.path?.replace('SLUG', `${slug}-${n}`) ?? tool(`${slug}-${n}`);
    const put = (slug: string): Wish => ({ ...wish, method: 'PUT', path: path(slug) });
    const [direct, routed] = await Promise.all([
      raw.say(raw.plain(body, put('made'))),
      raw.say(raw.chunked(body, put('routed'))),
    ]);
    assert.ok(direct.startsWith(`HTTP/1.1 ${status} `), `${what}: ${direct.slice(0, 300)}`);
    assert.equal(like(direct), like(routed), what);
  }
});

test('a tool that comes in pieces, or several at once, is stored like any other', async () => {
  const whole = raw.plain(toolBody(), { method: 'PUT', path: tool('pieces') });
  const head = whole.indexOf('\r\n\r\n') + 4;
  const pieces = [
    whole.subarray(0, 10),
    whole.subarray(10, head),
    whole.subarray(head, head + 5),
    whole.subarray(head + 5),
  ];
  assert.match(await raw.say(pieces), /^HTTP\/1\.1 201 /);
  const two = ['first', 'second'].map((slug) => raw.plain(toolBody(), { method: 'PUT', path: tool(slug) }));
  const answers = await raw.say(Buffer.concat(two), 2);
  assert.ok(answers.indexOf('"slug":"first"') < answers.indexOf('"slug":"second"'), answers);
  assert.equal(answers.match(/HTTP\/1\.1 201 /g)?.length, 2);
});
