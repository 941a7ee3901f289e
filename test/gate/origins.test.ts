import assert from 'node:assert/strict';
import { request } from 'node:http';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../kit/running-server.ts';

let home: string;
let server: TestServer;
let port: number;
const listed = 'https://app.example.com';

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-origins-'));
  await writeFile(
    join(home, 'config.yaml'),
    `version: 1\nhttp: { allowedOrigins: ["${listed}"], publicUrl: "https://tools.example.com" }\n`,
  );
  server = await startTestServer({ home });
  ({ port } = JSON.parse(await readFile(join(home, 'server.json'), 'utf8')));
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true });
});

/** Sends the headers as they are; fetch would not let us choose Host. */
function send(
  method: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Record<string, unknown>; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`http://127.0.0.1:${port}/tools/bundles`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, ...headers },
    });
    sent.on('error', reject);
    sent.on('response', (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => (body += chunk.toString()));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
    });
    sent.end();
  });
}

for (const host of [
  'localhost',
  'LOCALHOST:80',
  '127.0.0.1:1234',
  '127.8.9.10',
  '[::1]',
  '[::1]:8080',
  'tools.example.com',
  'Tools.Example.com:443',
])
  test(`a request to ${host} is answered`, async () => assert.equal((await send('GET', { host })).status, 200));

for (const host of [
  'evil.example.com',
  'localhost.evil.example.com',
  '127.0.0.1.evil.example.com',
  'localhost@evil.example.com',
  '[::2]',
  '10.1.2.3',
  'localhost:999999',
  ' ',
])
  test(`a request to ${host} is refused`, async () => {
    const { status, body } = await send('GET', { host });
    assert.equal(status, 403);
    assert.equal(JSON.parse(body).error.code, 'origin.refused');
  });

test('a page of a listed origin may read answers, without cookies', async () => {
  const { status, headers } = await send('GET', { origin: listed });
  assert.equal(status, 200);
  assert.equal(headers['access-control-allow-origin'], listed);
  assert.match(String(headers['access-control-expose-headers']), /Mcp-Session-Id/);
  assert.equal(headers['access-control-allow-credentials'], undefined);
  assert.match(String(headers['vary']), /Origin/);
});

test('a page of a listed origin may read streamed answers', async () => {
  const { headers } = await fetch(`http://127.0.0.1:${port}/call/demo_foo`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
      origin: listed,
    },
    body: JSON.stringify({ args: { text: 'x' } }),
  });
  assert.match(headers.get('content-type') ?? '', /event-stream/);
  assert.equal(headers.get('access-control-allow-origin'), listed);
});

test('a page of a listed origin may follow what changes', async () => {
  const stop = new AbortController();
  const { status, headers } = await fetch(`http://127.0.0.1:${port}/events`, {
    headers: { authorization: `Bearer ${server.token}`, origin: listed },
    signal: stop.signal,
  });
  stop.abort();
  assert.deepEqual([status, headers.get('access-control-allow-origin')], [200, listed]);
});

test('a page of a listed origin may ask beforehand what it may send', async () => {
  const asked = {
    origin: listed,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization, content-type',
  };
  const { status, headers } = await send('OPTIONS', asked);
  assert.equal(status, 204);
  assert.match(String(headers['access-control-allow-methods']), /\bPUT\b/);
  assert.equal(headers['access-control-allow-headers'], 'authorization, content-type');
});

test('the pages of the server itself may ask, and nothing is answered beforehand that was not asked', async () => {
  for (const origin of [`http://127.0.0.1:${port}`, 'https://tools.example.com'])
    assert.equal((await send('GET', { origin })).status, 200, origin);
  const { status, headers } = await send('OPTIONS', { origin: listed });
  assert.deepEqual([status, headers['allow']], [405, 'GET']);
  assert.equal((await send('GET', { origin: listed })).headers['access-control-allow-methods'], undefined);
});

for (const [method, origin] of [
  ['GET', 'https://evil.example.com'],
  ['OPTIONS', 'https://evil.example.com'],
  ['GET', 'null'],
  ['POST', `${listed}.evil.example.com`],
] as const)
  test(`${method} from a page of ${origin} is refused and unreadable`, async () => {
    const { status, headers, body } = await send(method, { origin });
    assert.equal(status, 403);
    assert.equal(JSON.parse(body).error.code, 'origin.refused');
    assert.equal(headers['access-control-allow-origin'], undefined);
  });
