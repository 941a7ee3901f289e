import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root, startTestServer, type TestServer } from '../support/running-server.ts';

// Plain POSTs to MCP addresses do not pass the router; written otherwise, the same requests do. Both must be answered alike.
const script = join(root, 'test', 'mcp', 'raw-server.ts');
let server: TestServer;
let home: string;
let port: number;

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
  const raw = { command: process.execPath, args: [script] };
  await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers: { raw } }));
  server = await startTestServer({ home });
  port = Number(new URL(server.url).port);
  for (let i = 0; !(await say(plain(list))).includes('echo'); i++) {
    assert.ok(i < 300);
    await sleep(50);
  }
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
const both = 'application/json, text/event-stream';

interface Wish {
  path?: string;
  token?: string;
  headers?: Record<string, string>;
}

const head = ({ path = '/mcp/b/raw', token = server.token, headers = {} }: Wish): string => {
  const all = {
    host: `127.0.0.1:${port}`,
    accept: both,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    ...headers,
  };
  return `POST ${path} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}`;
};

/** As most clients write it. */
function plain(message: unknown, wish: Wish = {}): string {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  return `${head(wish)}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** The same without a length, which the router takes. */
function chunked(message: unknown, wish: Wish = {}): string {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const chunk = body === '' ? '' : `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
  return `${head(wish)}transfer-encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`;
}

/** Writes pieces one after the other on one connection; answers what came back until `answers` bodies are complete. */
async function say(pieces: string | string[], answers = 1): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true).setEncoding('utf8');
  let text = '';
  const done = new Promise<void>((resolve) => {
    socket.on('data', (chunk: string) => {
      text += chunk;
      if (complete(text) >= answers) resolve();
    });
    socket.on('close', () => resolve());
  });
  await once(socket, 'connect');
  for (const piece of [pieces].flat()) {
    socket.write(piece);
    await sleep(15);
  }
  await done;
  socket.destroy();
  return text;
}

/** How many whole answers are in the text; one without a length is the last. */
function complete(text: string): number {
  if (text.endsWith('\r\n0\r\n\r\n')) return Infinity;
  let count = 0;
  for (let rest = text; ; count++) {
    const end = rest.indexOf('\r\n\r\n');
    const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, Math.max(end, 0)))?.[1] ?? NaN);
    if (end < 0 || !(Buffer.byteLength(rest.slice(end + 4)) >= length)) return count;
    rest = Buffer.from(rest.slice(end + 4))
      .subarray(length)
      .toString();
  }
}

const comparable = (text: string): string =>
  text
    .replace(/date: [^\r]+\r\n/gi, '')
    .replace(/req_\w+/g, 'req_x')
    .replace(/keep-alive: [^\r]+\r\n/gi, '')
    .split('\r\n')
    .map((line) => line.replace(/^[\w-]+(?=: )/, (name) => name.toLowerCase()))
    .sort()
    .join('\n');

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
    const [direct, routed] = await Promise.all([say(plain(message, wish)), say(chunked(message, wish))]);
    assert.match(direct, /^HTTP\/1\.1 \d{3} /, what);
    assert.equal(comparable(direct), comparable(routed), what);
  }
});

test('a request that comes in pieces, or several at once, is answered like any other', async () => {
  const whole = plain(echo('in pieces'));
  const middle = whole.length - 20;
  assert.match(await say([whole.slice(0, middle), whole.slice(middle)]), /in pieces/);
  const end = whole.indexOf('\r\n\r\n') + 4;
  assert.match(await say([whole.slice(0, end), whole.slice(end)]), /in pieces/);
  const three = await say([plain(echo('one')) + plain(echo('two')) + plain(echo('three'))], 3);
  const told = [...three.matchAll(/"text":"(\w+)"/g)].map((match) => match[1]);
  assert.deepEqual(told, ['one', 'two', 'three']);
});

test('a body that is too large is refused, and one that never ends harms nobody', async () => {
  const answer = await say(plain(echo('x'.repeat(5 * 2 ** 20))));
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /body\.too_large/);
  const whole = plain(echo('never'));
  const socket = connect(port, '127.0.0.1');
  socket.write(whole.slice(0, -5));
  await sleep(50);
  socket.destroy();
  assert.match(await say(plain(echo('still here'))), /still here/);
});
