import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

const script = join(import.meta.dirname, 'raw-server.ts');
let server: TestServer;
before(async () => {
  server = await testServer({
    config: JSON.stringify({ servers: { raw: { command: process.execPath, args: [script], timeoutMs: 600_000 } } }),
  });
  await until(async () => (await server.call('server_list')).value.servers[0].status === 'connected');
});
after(() => server.remove());

interface Wish {
  session?: string;
  token?: string;
  path?: string;
  signal?: AbortSignal;
}

const send = (
  method: string,
  body: unknown,
  { session, token, path = '/mcp/b/raw', signal }: Wish,
): Promise<Response> =>
  fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${token ?? server.token}`,
      accept: 'application/json, text/event-stream',
      ...(session !== undefined && { 'mcp-session-id': session }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
const post = (message: object, wish: Wish): Promise<Response> => send('POST', { jsonrpc: '2.0', ...message }, wish);
const slow = (id: number, ms: number) => ({
  id,
  method: 'tools/call',
  params: { name: 'slow', arguments: { ms }, _meta: { progressToken: 'p' } },
});

/** A call that would take very long, once the upstream server has it; answers how to read the answer to its end. */
async function begin(id: number, wish: Wish): Promise<() => Promise<string>> {
  const reader = (await post(slow(id, 600_000), wish)).body!.pipeThrough(new TextDecoderStream()).getReader();
  let said = '';
  while (!said.includes('still here')) said += (await reader.read()).value;
  return async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read()) said += next.value;
    return said;
  };
}

async function open(wish: Wish = {}): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const opened = await post({ id: 0, method: 'initialize', params }, wish);
  await opened.text();
  return opened.headers.get('mcp-session-id') ?? '';
}

async function refused(asked: Promise<Response>): Promise<[number, number]> {
  const answer = await asked;
  return [answer.status, ((await answer.json()) as { error: { code: number } }).error.code];
}

/** How many calls the upstream server was told to give up. */
async function givenUp(): Promise<number> {
  const { lines } = (await server.call('server_logs', { name: 'raw' })).value as { lines: string[] };
  return lines.filter((line) => line.includes('cancelled as asked')).length;
}

test('a session serves the token and the menu that opened it, and nobody else', async () => {
  const session = await open();
  const { token } = (await server.call('token_create', { name: 'other', scope: 'admin' })).value;
  for (const wish of [
    { session, token },
    { session, path: '/mcp' },
  ])
    for (const asked of [
      post({ id: 1, method: 'tools/list' }, wish),
      post({ id: 1, method: 'ping' }, wish),
      post({ method: 'notifications/initialized' }, wish),
      send('GET', undefined, wish),
      send('DELETE', undefined, wish),
    ])
      assert.deepEqual(await refused(asked), [404, -32001]);
  assert.equal((await post({ id: 1, method: 'ping' }, { session })).status, 200);
});

test('an id serves one request at a time, and whoever cancelled it may use it again', async () => {
  const session = await open();
  const before = await givenUp();
  const first = await begin(7, { session });
  for (const method of ['tools/list', 'ping'])
    assert.deepEqual(await refused(post({ id: 7, method }, { session })), [400, -32600], method);
  const cancel = { method: 'notifications/cancelled', params: { requestId: 7 } };
  assert.equal((await post(cancel, { session })).status, 202);
  const second = await post(slow(7, 500), { session });
  assert.doesNotMatch(await first(), /"id":7/);
  await until(async () => (await givenUp()) === before + 1);
  assert.match(await second.text(), /"text":"done"/);
  const third = await begin(7, { session });
  await post(cancel, { session });
  await third();
  await until(async () => (await givenUp()) === before + 2);
});

test('a session has one stream of its own at a time', async () => {
  const session = await open();
  const leave = new AbortController();
  assert.equal((await send('GET', undefined, { session, signal: leave.signal })).status, 200);
  assert.deepEqual(await refused(send('GET', undefined, { session })), [409, -32000]);
  leave.abort();
  const again = await until(async () => {
    const stream = await send('GET', undefined, { session });
    return stream.status === 200 ? stream : undefined;
  });
  assert.equal((await send('DELETE', undefined, { session })).status, 200);
  await again.text();
});

test('what a session is waiting for is given up when it ends, and what a single request waits for when it hangs up', async () => {
  const session = await open();
  const before = await givenUp();
  const waiting = await begin(1, { session });
  assert.equal((await send('DELETE', undefined, { session })).status, 200);
  await waiting();
  await until(async () => (await givenUp()) === before + 1);
  assert.deepEqual(await refused(post({ id: 2, method: 'ping' }, { session })), [404, -32001]);
  const leave = new AbortController();
  await begin(1, { signal: leave.signal });
  leave.abort();
  await until(async () => (await givenUp()) === before + 2);
});
