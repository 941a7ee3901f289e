import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { comparable, RawPosts, type Wish } from '../kit/raw-posts.ts';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

// Plain POSTs to MCP addresses do not pass the router; written otherwise, the same requests do. Both must be answered alike.
const script = join(root, 'test', 'mcp', 'raw-server.ts');
let server: TestServer;
let home: string;
let raw: RawPosts;

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
  const upstream = { command: process.execPath, args: [script] };
  await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers: { raw: upstream } }));
  server = await startTestServer({ home });
  raw = new RawPosts(server, '/mcp/b/raw', 'application/json, text/event-stream');
  await until(async () => (await raw.say(raw.plain(list))).includes('echo'), 20_000);
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const echo = (text: string, id = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'echo', arguments: { text } },
});

test('whatever is posted is answered alike with and without the router', async () => {
  const cases: [string, unknown, Wish?][] = [
    ['a list', list],
    ['a call', echo('hello')],
    ['a call with other letters', echo('grüße 🙂')],
    ['a call of a tool that is not there', { ...list, method: 'tools/call', params: { name: 'nothing' } }],
    ['arguments that do not fit', { ...list, method: 'tools/call', params: { name: 'echo', arguments: {} } }],
    ['a ping', { ...list, method: 'ping' }],
    ['a batch', [echo('a', 1), echo('b', 2)]],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['broken JSON', '{"jsonrpc":'],
    ['an empty body', ''],
    ['no JSON-RPC at all', '42'],
    ['an odd id', { ...list, id: 1.5 }],
    ['a session that is not there', list, { headers: { 'mcp-session-id': 'none' } }],
    ['an unknown revision', list, { headers: { 'mcp-protocol-version': '1999-01-01' } }],
    ['a client that takes no streams', list, { headers: { accept: 'application/json' } }],
    ['no token', list, { headers: { authorization: '' } }],
    ['a wrong token', list, { token: `oub_${'x'.repeat(43)}` }],
    ['a bundle that is not there', list, { path: '/mcp/b/nothing' }],
    ['a bundle that is no server', list, { path: '/mcp/b/demo' }],
    ['a query', list, { path: '/mcp/b/raw?x=1' }],
    ['the menu of run', list, { path: '/mcp/run' }],
    ['a foreign host', list, { headers: { host: 'evil.example' } }],
    ['a foreign origin', list, { headers: { origin: 'https://evil.example' } }],
    ['another media type', '<a/>', { headers: { 'content-type': 'text/xml' } }],
    ['a charset', echo('x'), { headers: { 'content-type': 'application/json; charset=utf-8' } }],
  ];
  for (const [what, message, wish] of cases) {
    const [direct, routed] = await Promise.all([
      raw.say(raw.plain(message, wish)),
      raw.say(raw.chunked(message, wish)),
    ]);
    assert.match(direct, /^HTTP\/1\.1 \d{3} /, what);
    assert.equal(comparable(direct), comparable(routed), what);
  }
});

test('a request that comes in pieces, or several at once, is answered like any other', async () => {
  const whole = raw.plain(echo('in pieces'));
  const middle = whole.length - 20;
  assert.match(await raw.say([whole.subarray(0, middle), whole.subarray(middle)]), /in pieces/);
  const end = whole.indexOf('\r\n\r\n') + 4;
  assert.match(await raw.say([whole.subarray(0, end), whole.subarray(end)]), /in pieces/);
  const three = await raw.say(
    Buffer.concat([raw.plain(echo('one')), raw.plain(echo('two')), raw.plain(echo('three'))]),
    3,
  );
  const told = [...three.matchAll(/"text":"(\w+)"/g)].map((match) => match[1]);
  assert.deepEqual(told, ['one', 'two', 'three']);
});

test('a body that is too large is refused, and one that never ends harms nobody', async () => {
  const answer = await raw.say(raw.plain(echo('x'.repeat(5 * 2 ** 20))));
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /body\.too_large/);
  const whole = raw.plain(echo('never'));
  const socket = connect(raw.port, '127.0.0.1');
  socket.write(whole.subarray(0, -5));
  await sleep(50);
  socket.destroy();
  assert.match(await raw.say(raw.plain(echo('still here'))), /still here/);
});

test('every request of a connection is as good as the token that it brings, at that moment', async () => {
  const made = await server.fetch('/call/token_create', {
    method: 'POST',
    json: { args: { name: 'short-lived', scope: 'read' } },
  });
  const { id, token } = ((await made.json()) as { value: { id: string; token: string } }).value;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const sockets = new Set<object>();
  const post = (secret: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${secret}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      };
      const sent = request(`${server.url}/mcp/b/raw`, { method: 'POST', agent, headers }, (answer) => {
        sockets.add(answer.socket);
        answer.resume().on('end', () => resolve(answer.statusCode));
      });
      sent.on('error', reject).end(JSON.stringify(list));
    });
  assert.equal(await post(token), 200);
  assert.equal(await post(server.token), 200);
  assert.equal(await post(token), 200);
  await server.fetch('/call/token_revoke', { method: 'POST', json: { args: { token_id: id } } });
  assert.equal(await post(token), 401);
  assert.equal(sockets.size, 1, 'one connection brought them all');
  assert.equal(await post(server.token.slice(0, -1)), 401);
  assert.equal(await post(server.token), 200);
  agent.destroy();
});
