import { test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { oubliette, root, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

const raw = { command: process.execPath, args: [join(root, 'test', 'mcp', 'raw-server.ts')] };

async function serve(config: object): Promise<TestServer & { gone(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'oub-'));
  await writeFile(join(home, 'config.yaml'), JSON.stringify(config));
  const server = await startTestServer({ home });
  const gone = async (): Promise<void> => {
    await server.stop();
    await rm(home, { recursive: true, force: true });
  };
  return { ...server, gone };
}

async function eventually(
  server: TestServer,
  name: string,
  args: object,
  isGood: (body: any) => boolean,
): Promise<any> {
  return until(async () => {
    const body = await (await server.fetch(`/call/${name}`, { method: 'POST', json: { args } })).json();
    return isGood(body) ? body : undefined;
  }, 20_000);
}

test(
  'one server behind another, over HTTP in the 2026 era, with a secret in its headers; nothing but that host is opened',
  { timeout: 280_000 },
  async () => {
    const first = await serve({ servers: { raw } });
    const second = await serve({
      servers: { remote: { url: `${first.url}/mcp/b/raw`, headers: { Authorization: 'Bearer ${FIRST_TOKEN}' } } },
    });
    try {
      await eventually(second, 'server_list', {}, (body) => /FIRST_TOKEN/.test(body.value.servers[0].error ?? ''));
      const set = await oubliette(['secret', 'set', 'FIRST_TOKEN', '--home', second.home], { input: first.token });
      assert.equal(set.code, 0, set.err);
      const { value } = await eventually(second, 'server_list', {}, (body) => body.value.servers[0].tools > 5);
      assert.equal(value.servers[0].protocol, '2026-07-28');
      assert.deepEqual(await eventually(second, 'remote_echo', { text: 'through two' }, (body) => body.ok), {
        ok: true,
        value: 'through two',
      });
      const sum = await (
        await second.fetch('/call/remote_Add_Numbers_now', { method: 'POST', json: { args: { a: 1, b: 2 } } })
      ).json();
      assert.deepEqual(sum, { ok: true, value: { sum: 3 } });
    } finally {
      await second.gone();
      await first.gone();
    }
  },
);

test(
  'an access token is fetched, used, and renewed when it is refused; a restarted server is found again',
  { timeout: 280_000 },
  async () => {
    const first = await serve({ servers: { raw } });
    let issued = 0;
    let accepted = '';
    const refused: string[] = [];
    // A guard before the first server: it hands out tokens of its own and lets only the newest through.
    const guard = createServer((incoming, outgoing) => {
      if (incoming.url === '/token') {
        accepted = `access-${++issued}`;
        outgoing.setHeader('content-type', 'application/json');
        return void outgoing.end(JSON.stringify({ access_token: accepted, token_type: 'bearer', expires_in: 3600 }));
      }
      if (incoming.headers.authorization !== `Bearer ${accepted}`) {
        refused.push(String(incoming.headers.authorization));
        return void outgoing.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      }
      const headers = { ...incoming.headers, authorization: `Bearer ${first.token}`, host: new URL(first.url).host };
      const onward = httpRequest(`${first.url}/mcp/b/raw`, { method: incoming.method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      outgoing.on('close', () => onward.destroy());
      incoming.pipe(onward);
    });
    guard.listen(0, '127.0.0.1');
    await once(guard, 'listening');
    const at = `http://127.0.0.1:${(guard.address() as AddressInfo).port}`;
    const second = await serve({
      servers: {
        guarded: { url: `${at}/mcp`, oauth: { tokenUrl: `${at}/token`, clientId: 'me', clientSecret: 'secret' } },
      },
    });
    try {
      await eventually(second, 'guarded_echo', { text: 'with a token' }, (body) => body.ok);
      accepted = 'something else now';
      await eventually(second, 'guarded_echo', { text: 'renewed' }, (body) => body.ok);
      assert.ok(issued >= 2 && refused.length >= 1);
    } finally {
      guard.closeAllConnections();
      guard.close();
      await second.gone();
      await first.gone();
    }
  },
);

test('a server of the 2025 era that was restarted is greeted anew within the call', { timeout: 280_000 }, async () => {
  const sessions = new Set<string>();
  let greeted = 0;
  const old = createServer((incoming, outgoing) => {
    let body = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    incoming.on('end', () => {
      const { id, method, params } = body ? JSON.parse(body) : ({} as any);
      const answer = (status: number, value?: object, headers = {}): void =>
        void outgoing
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(value && JSON.stringify(value));
      if (incoming.method !== 'POST') return answer(405);
      if (method === 'server/discover')
        return answer(200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
      if (method === 'initialize') {
        const session = `s${++greeted}`;
        sessions.add(session);
        return answer(
          200,
          {
            jsonrpc: '2.0',
            id,
            result: {
              protocolVersion: params.protocolVersion,
              capabilities: { tools: {} },
              serverInfo: { name: 'old', version: '1' },
            },
          },
          { 'mcp-session-id': session },
        );
      }
      if (!sessions.has(String(incoming.headers['mcp-session-id'])))
        return answer(404, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } });
      if (id === undefined) return answer(202);
      const result =
        method === 'tools/list'
          ? { tools: [{ name: 'hi', inputSchema: { type: 'object' } }] }
          : { content: [{ type: 'text', text: `hi from ${incoming.headers['mcp-session-id']}` }] };
      answer(200, { jsonrpc: '2.0', id, result });
    });
  }).listen(0, '127.0.0.1');
  await once(old, 'listening');
  const server = await serve({
    servers: { old: { url: `http://127.0.0.1:${(old.address() as AddressInfo).port}/mcp` } },
  });
  try {
    await eventually(server, 'old_hi', {}, (body) => body.value === 'hi from s1');
    sessions.clear();
    const again = await (await server.fetch('/call/old_hi', { method: 'POST', json: { args: {} } })).json();
    assert.deepEqual(again, { ok: true, value: 'hi from s2' });
  } finally {
    old.closeAllConnections();
    old.close();
    await server.gone();
  }
});
