import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

interface Rpc {
  id?: number;
  method?: string;
}

/** An MCP server of the 2025 era that answers subscriptions only when it is told to. */
const upstream = createServer((asked, answer) => void serve(asked, answer));
const waiting: (() => void)[] = [];
const seen: string[] = [];
let server: TestServer;

async function serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const text = (await asked.setEncoding('utf8').toArray()).join('');
  if (asked.method !== 'POST') return void answer.writeHead(405).end();
  const { id, method = '' } = JSON.parse(text) as Rpc;
  seen.push(method);
  if (id === undefined) return void answer.writeHead(202).end();
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {}, resources: { subscribe: true } },
      serverInfo: { name: 'up', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  };
  if (method === 'resources/subscribe') await new Promise<void>((resolve) => waiting.push(resolve));
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

function send(method: string, path: string, headers: Record<string, string>, body?: object): ClientRequest {
  const sent = request(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
  });
  sent.on('error', () => {});
  sent.end(body && JSON.stringify(body));
  return sent;
}

async function session(path: string): Promise<Record<string, string>> {
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  };
  const [answer] = (await once(send('POST', path, {}, hello), 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return { 'mcp-session-id': String(answer.headers['mcp-session-id']) };
}

const count = (method: string): number => seen.filter((each) => each === method).length;

test('a listener that leaves while it is subscribed upstream is unsubscribed again', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const listen = {
    jsonrpc: '2.0',
    id: 1,
    method: 'subscriptions/listen',
    params: { notifications: { resourceSubscriptions: ['up://one'] }, _meta: meta },
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
  const before = count('resources/unsubscribe');
  const sent = send('POST', '/mcp/b/up', headers, listen);
  await until(() => waiting.length === 1);
  sent.destroy();
  await sleep(50);
  waiting.shift()!();
  await until(() => count('resources/unsubscribe') === before + 1);
});

test('a session that ends while it is subscribed upstream is unsubscribed again', async () => {
  const headers = await session('/mcp/b/up');
  const before = count('resources/unsubscribe');
  const subscribe = { jsonrpc: '2.0', id: 2, method: 'resources/subscribe', params: { uri: 'up://two' } };
  send('POST', '/mcp/b/up', headers, subscribe);
  await until(() => waiting.length === 1);
  const [ended] = (await once(send('DELETE', '/mcp/b/up', headers), 'response')) as [IncomingMessage];
  assert.equal(ended.statusCode, 200);
  ended.resume();
  waiting.shift()!();
  await until(() => count('resources/unsubscribe') === before + 1);
});
