import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

/** An MCP server whose tool answers when it is told to. */
const upstream = createServer((asked, answer) => void serve(asked, answer));
const running: (() => void)[] = [];
let cancelled = 0;
let server: TestServer;

async function serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const text = (await asked.setEncoding('utf8').toArray()).join('');
  if (asked.method !== 'POST') return void answer.writeHead(405).end();
  const { id, method = '' } = JSON.parse(text) as { id?: number; method?: string };
  if (method === 'notifications/cancelled') cancelled++;
  if (id === undefined) return void answer.writeHead(202).end();
  const serverInfo = { name: 'up', version: '1' };
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'at last' }] },
  };
  if (method === 'tools/call') await new Promise<void>((resolve) => running.push(resolve));
  answer.writeHead(200, { 'content-type': 'application/json' });
  answer.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }));
}

before(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/mcp`;
  server = await testServer({ config: JSON.stringify({ servers: { up: { url } } }) });
  await until(async () => (await server.call('server_list')).value.servers[0].status === 'connected', 20_000);
});
after(async () => {
  await server.remove();
  upstream.closeAllConnections();
  upstream.close();
});

interface Wish {
  path: string;
  body: object;
  /** Written so that the router takes it. */
  isRouted?: boolean;
}

const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
const slowCalls: Wish[] = [
  { path: '/call/up_slow', body: { args: {} } },
  { path: '/call/up_slow', body: { args: {} }, isRouted: true },
  { path: '/mcp/b/up', body: rpc('tools/call', { name: 'slow', arguments: {} }) },
];

function begin({ path, body, isRouted }: Wish): { socket: Socket; text: () => string; bytes: string } {
  const { port } = new URL(server.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const json = JSON.stringify(body);
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${server.token}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    ...(isRouted ? ['Expect: nothing'] : []),
    `Content-Length: ${json.length}`,
  ];
  return { socket, text: () => text, bytes: `${lines.join('\r\n')}\r\n\r\n${json}` };
}

test('whoever ends their half of the connection with the request gets the answer', async () => {
  const quick: [Wish, RegExp][] = [
    [{ path: '/call/demo_foo', body: { args: { text: 'x' } } }, /"ok":true/],
    [{ path: '/call/demo_foo', body: { args: { text: 'x' } }, isRouted: true }, /"ok":true/],
    [{ path: '/mcp/b/up', body: rpc('tools/list', {}) }, /"name":"slow"/],
  ];
  for (const [wish, said] of quick) {
    const { socket, text, bytes } = begin(wish);
    socket.end(bytes);
    await once(socket, 'end');
    // On a machine with no time to spare, it is told to wait first.
    assert.match(text(), /^(HTTP\/1\.1 102 Processing\r\n\r\n)*HTTP\/1\.1 200 OK\r\n/);
    assert.match(text(), said);
  }
});

test('one who waits so gets a slow answer, too', async () => {
  for (const wish of slowCalls) {
    const { socket, text, bytes } = begin(wish);
    socket.end(bytes);
    await until(() => running.length === 1);
    await sleep(400);
    running.pop()!();
    await once(socket, 'end');
    assert.match(text(), /at last/, wish.path);
  }
  assert.equal(cancelled, 0);
});

test('the call of one who hangs up is cancelled', async () => {
  for (const [at, wish] of slowCalls.entries()) {
    const { socket, bytes } = begin(wish);
    socket.write(bytes);
    await until(() => running.length === 1);
    socket.destroy();
    await until(() => cancelled === at + 1, 3000);
    running.pop()!();
  }
});
