import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { comparable, RawPosts, type Wish } from '../kit/raw-posts.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

// Plain calls do not pass the router; written otherwise, the same requests do. Both must be answered alike.
let server: TestServer;
let raw: RawPosts;
let exact: string;
let limited: string;
let reader: string;
const bundle = randomUUIDv7();

before(async () => {
  server = await startTestServer();
  raw = new RawPosts(server, '/call/demo_foo', 'application/json');
  const { tools } = (await (await server.fetch('/tools/tools/search?q=demo+foo')).json()) as {
    tools: { bundleID: string; slug: string; version: string; name: string }[];
  };
  const foo = tools.find(({ name }) => name === 'demo_foo')!;
  exact = `/tools/bundles/${foo.bundleID}/tools/${foo.slug}/version/${foo.version}/invoke`;
  await server.fetch(`/tools/bundles/${bundle}`, {
    method: 'PUT',
    json: { slug: 'mine', displayName: 'Mine', isEnabled: true },
  });
  const tool = {
    displayName: 'T',
    isEnabled: true,
    type: 'function',
    functionImpl: { func: 'demo.foo' },
    argSchema: { type: 'object' },
  };
  await server.fetch(`/tools/bundles/${bundle}/tools/off/version/v1`, {
    method: 'PUT',
    json: { ...tool, isEnabled: false },
  });
  const limits = { maxCallsPerMinute: 1 };
  await server.fetch(`/tools/bundles/${bundle}/tools/rare/version/v1`, { method: 'PUT', json: { ...tool, limits } });
  limited = `/tools/bundles/${bundle}/tools/rare/version/v1/invoke`;
  const wish = { name: 'reader', scope: 'read' };
  const minted = await server.fetch('/call/token_create', { method: 'POST', json: { args: wish } });
  reader = ((await minted.json()) as { value: { token: string } }).value.token;
});
after(() => server.stop());

const hello = { args: { text: 'hello' } };

test('whatever is called is answered alike with and without the router', async () => {
  const foo = await raw.say(raw.plain(hello));
  assert.match(foo, /^HTTP\/1\.1 200 /);
  assert.match(foo, /\{"ok":true,"value":"\w+"\}$/);
  await raw.say(raw.plain(hello, { path: limited }));
  const cases: [what: string, status: number, body: unknown, wish?: Wish][] = [
    ['a call by name', 200, hello],
    ['a call of one version', 200, hello, { path: exact }],
    ['a tool that fails', 200, { args: { expression: '1/' } }, { path: '/call/calc_evaluate' }],
    ['arguments that do not fit', 400, { args: { text: 5 } }],
    ['arguments that are no object', 400, { args: [] }],
    ['no arguments', 400, {}],
    ['a field too many', 400, { args: { text: 'a' }, more: 1 }],
    ['nesting without end', 400, `{"args":{"text":${'['.repeat(5000)}${']'.repeat(5000)}}}`],
    ['broken JSON', 400, '{"args":'],
    ['bytes that are no text', 400, Buffer.from([0x7b, 0xff, 0x7d])],
    ['a prototype', 400, '{"args":{"__proto__":{}}}'],
    ['an empty body', 400, ''],
    ['a tool that is not there', 404, hello, { path: '/call/nothing_here' }],
    ['a version that is not there', 404, hello, { path: exact.replace('/version/', '/version/x') }],
    ['a tool that is switched off', 409, hello, { path: `/tools/bundles/${bundle}/tools/off/version/v1/invoke` }],
    ['a tool that was called too often', 429, hello, { path: limited }],
    ['no token', 401, hello, { headers: { authorization: '' } }],
    ['a wrong token', 401, hello, { token: `oub_${'x'.repeat(43)}` }],
    ['a token that may not', 403, { args: { name: 'x' } }, { path: '/call/project_create', token: reader }],
    ['a query', 200, hello, { path: '/call/demo_foo?x=1' }],
    ['a foreign host', 403, hello, { headers: { host: 'evil.example' } }],
    ['a foreign origin', 403, hello, { headers: { origin: 'https://evil.example' } }],
    ['another media type', 415, '<a/>', { headers: { 'content-type': 'text/xml' } }],
    ['another encoding', 415, hello, { headers: { 'content-encoding': 'gzip' } }],
    ['a charset', 200, hello, { headers: { 'content-type': 'application/json; charset=utf-8' } }],
  ];
  for (const [what, status, body, wish] of cases) {
    const [direct, routed] = await Promise.all([raw.say(raw.plain(body, wish)), raw.say(raw.chunked(body, wish))]);
    assert.ok(direct.startsWith(`HTTP/1.1 ${status} `), `${what}: ${direct.slice(0, 300)}`);
    assert.equal(comparable(direct), comparable(routed), what);
  }
});

test('a call that comes in pieces, or several at once, is answered like any other', async () => {
  const whole = raw.plain(hello);
  const head = whole.indexOf('\r\n\r\n') + 4;
  for (const cut of [whole.length - 8, head, head - 10])
    assert.match(await raw.say([whole.subarray(0, cut), whole.subarray(cut)]), /"ok":true/);
  const texts = ['one', 'two', 'three'].map((text) => raw.plain({ args: { text } }, { path: '/call/text_hash' }));
  const answers = await raw.say(Buffer.concat(texts), 3);
  assert.equal([...answers.matchAll(/HTTP\/1\.1 200/g)].length, 3);
});

test('a body that is too large is refused, and one that never ends harms nobody', async () => {
  assert.match(
    await raw.say(raw.plain({ args: { text: 'x'.repeat(5 * 2 ** 20) } })),
    /^HTTP\/1\.1 413 [^]*body\.too_large/,
  );
  const socket = connect(raw.port, '127.0.0.1');
  socket.write(raw.plain(hello).subarray(0, -5));
  await sleep(50);
  socket.destroy();
  assert.match(await raw.say(raw.plain(hello)), /"ok":true/);
});

test('whoever hangs up ends the call', async () => {
  const isEnded = async (): Promise<boolean> =>
    /tool="run",outcome="tool\.cancelled"/.test(await (await server.fetch('/metrics')).text());
  // Whoever hangs up before the call was even read has called nothing: then once more, with more patience.
  for (let i = 1; !(await isEnded()); i++) {
    assert.ok(i < 20, await (await server.fetch('/metrics')).text());
    const socket = connect(raw.port, '127.0.0.1');
    socket.write(raw.plain({ args: { code: 'while True:\n    pass' } }, { path: '/call/run' }));
    await sleep(i * 300);
    socket.destroy();
    await until(isEnded, 3000).catch(() => {});
  }
});
