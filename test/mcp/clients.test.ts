import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { connected } from '../kit/connected.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

const script = join(import.meta.dirname, 'raw-server.ts');
let server: TestServer;
let home: string;

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
  await writeFile(
    join(home, 'config.yaml'),
    `servers:\n  raw: { command: ${process.execPath}, args: [${script}, many=600], timeoutMs: 30000 }\n`,
  );
  server = await startTestServer({ home });
  await connected(server);
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

async function connect(path: string, mode: VersionNegotiationMode, capabilities = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(server.url + path), {
    requestInit: { headers: { authorization: `Bearer ${server.token}` } },
  });
  await client.connect(transport);
  return client;
}

/** How many calls the upstream server was told to give up. */
async function givenUp(): Promise<number> {
  const answer = await server.fetch('/call/server_logs', { method: 'POST', json: { args: { name: 'raw' } } });
  const { value } = (await answer.json()) as { value: { lines: string[] } };
  return value.lines.filter((line) => line.includes('cancelled as asked')).length;
}

const eras: [string, VersionNegotiationMode][] = [
  ['2025', 'legacy'],
  ['2026', { pin: '2026-07-28' }],
];

test('a log level is for the client that sets it, and no other of the same server', async () => {
  const reader = async (): Promise<{ client: Client; read: unknown[] }> => {
    const client = await connect('/mcp/b/raw', 'legacy');
    const read: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void read.push(params.level));
    return { client, read };
  };
  const [loud, quiet] = [await reader(), await reader()];
  await loud.client.setLoggingLevel('info');
  await quiet.client.setLoggingLevel('error');
  for (const { client } of [loud, quiet]) await client.callTool({ name: 'slow', arguments: { ms: 100 } });
  assert.equal(loud.read[0], 'info');
  assert.deepEqual(quiet.read, []);
  await Promise.all([loud.client.close(), quiet.client.close()]);
});

for (const [era, mode] of eras) {
  test(`a ${era} client lists the server's own tools and calls one`, async () => {
    const client = await connect('/mcp', mode);
    const { tools } = await client.listTools();
    const names = tools.map((each) => each.name);
    assert.ok(names.includes('token_create') && names.includes('server_list'), names.join());
    assert.ok(!names.includes('demo_foo'));
    const result = await client.callTool({ name: 'server_list', arguments: {} });
    assert.equal((result.structuredContent as { servers: unknown[] }).servers.length, 1);
    await client.close();
  });

  test(`a ${era} client sees all pages of a bundle under the original names, and calls them`, async () => {
    const client = await connect('/mcp/b/raw', mode);
    const { tools } = await client.listTools();
    assert.ok(tools.length >= 610, String(tools.length));
    assert.equal(new Set(tools.map((each) => each.name)).size, tools.length, 'each once');
    assert.ok(tools.some((each) => each.name === 'Add Numbers/now'));
    const sum = await client.callTool({ name: 'Add Numbers/now', arguments: { a: 1, b: 2 } });
    assert.deepEqual(sum.structuredContent, { sum: 3 });
    const picture = await client.callTool({ name: 'picture', arguments: {} });
    assert.equal((picture.content as { type: string }[])[0]?.type, 'image');
    const bad = await client.callTool({ name: 'echo', arguments: { text: 5 } });
    assert.equal(bad.isError, true);
    const { text } = (bad.content as { text: string }[])[0]!;
    assert.equal(text.split('must be string').length, 2, `said once: ${text}`);
    await assert.rejects(client.callTool({ name: 'gone', arguments: {} }), /not found/);
    await client.close();
  });

  test(`a ${era} client gets progress, and its cancellation reaches the server`, async () => {
    const client = await connect('/mcp/b/raw', mode);
    const seen: unknown[] = [];
    await client.callTool({ name: 'slow', arguments: { ms: 100 } }, { onprogress: (progress) => seen.push(progress) });
    assert.deepEqual(seen[0], { progress: 1, message: 'still here' });
    const before = await givenUp();
    const control = new AbortController();
    // What it says first shows that it got the call.
    const slow = client.callTool(
      { name: 'slow', arguments: { ms: 60_000 } },
      { signal: control.signal, onprogress: () => control.abort() },
    );
    await assert.rejects(slow);
    await until(async () => (await givenUp()) > before);
    await client.close();
  });

  test(`a ${era} client answers what an upstream server asks`, async () => {
    const client = await connect('/mcp/b/raw', mode, { elicitation: { form: {} } });
    client.setRequestHandler('elicitation/create', async (request) => ({
      action: 'accept',
      content: { name: `${era} ${request.params.message}` },
    }));
    const result = await client.callTool({ name: 'ask', arguments: {} });
    assert.match(JSON.stringify(result.content), new RegExp(`${era} Your name`));
    await client.close();
    const mute = await connect('/mcp/b/raw', mode);
    assert.match(
      JSON.stringify((await mute.callTool({ name: 'ask', arguments: {} })).content),
      /cannot be asked|nobody is there/,
    );
    await mute.close();
  });

  test(`a ${era} client is told when the menu changes`, async () => {
    let told = 0;
    const client = new Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode }, listChanged: { tools: { autoRefresh: false, onChanged: () => void told++ } } },
    );
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/b/raw`), {
        requestInit: { headers: { authorization: `Bearer ${server.token}` } },
      }),
    );
    // It hears of changes from the moment its stream is open, and nobody tells when that is.
    await until(async () => {
      await client.callTool({ name: 'grow', arguments: {} });
      return until(() => told > 0, 1000).catch(() => false);
    });
    await client.close();
  });

  test(`a ${era} client reads resources`, async () => {
    const client = await connect('/mcp/run', mode);
    const { resources } = await client.listResources();
    assert.deepEqual(
      resources.map((each) => each.uri),
      ['ot://tools'],
    );
    const all = await client.readResource({ uri: 'ot://tools' });
    assert.match(JSON.stringify(all.contents), /demo\.foo: /);
    const one = await client.readResource({ uri: 'ot://tool/demo_foo' });
    assert.match(JSON.stringify(one.contents), /argSchema/);
    await assert.rejects(client.readResource({ uri: 'ot://tool/nothing' }), /not found/i);
    await client.close();
  });
}

test('a tool of several versions is offered once, as the newest that is switched on', async () => {
  const bundle = `/tools/bundles/${v7()}`;
  const put = async (path: string, json: object): Promise<void> => {
    assert.equal((await server.fetch(path, { method: 'PUT', json })).status, 201);
  };
  const body = { displayName: 'T', isEnabled: true, type: 'function', functionImpl: { func: 'demo.foo' } };
  // MCP wants a type that the schema need not have.
  const argSchema = { properties: { text: { type: 'string' } } };
  await put(bundle, { slug: 'versions', displayName: 'V', isEnabled: true });
  await put(`${bundle}/tools/t/version/9`, { ...body, argSchema, description: 'first' });
  await put(`${bundle}/tools/t/version/1`, { ...body, argSchema, description: 'second' });
  await put(`${bundle}/tools/t/version/5`, { ...body, argSchema, description: 'third', isEnabled: false });
  const client = await connect('/mcp/b/versions', 'legacy');
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.filter(({ name }) => name !== 'ot_result').map(({ name, description }) => [name, description]),
    [['t', 'second']],
  );
  await client.close();
});

test('without a valid token there is a 401 that says how, and a foreign host or origin is refused', async () => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  for (const extra of [{}, { authorization: 'Bearer oub_nonsense' }]) {
    const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers: { ...headers, ...extra }, body });
    assert.equal(answer.status, 401);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  }
  const foreign = await server.fetch('/mcp', {
    method: 'POST',
    headers: { ...headers, origin: 'https://evil.example' },
    body,
  });
  assert.equal(foreign.status, 403);
});

test('a bundle that is not there or out of reach is a 404', async () => {
  const made = await server.fetch('/call/token_create', {
    method: 'POST',
    json: { args: { name: 'narrow', scope: 'read', bundles: ['demo'] } },
  });
  const { token } = ((await made.json()) as { value: { token: string } }).value;
  const ping = {
    method: 'POST',
    headers: { accept: 'application/json, text/event-stream' },
    json: { jsonrpc: '2.0', id: 1, method: 'ping' },
  };
  assert.equal((await server.fetch('/mcp/b/nothing', ping)).status, 404);
  assert.equal((await server.fetch('/mcp/b/raw', { ...ping, token })).status, 404);
  assert.equal((await server.fetch('/mcp/b/demo', { ...ping, token })).status, 200);
});

test('a token of level read does not see what it may not call, and cannot call it', async () => {
  const made = await server.fetch('/call/token_create', {
    method: 'POST',
    json: { args: { name: 'reader', scope: 'read' } },
  });
  const { token } = ((await made.json()) as { value: { token: string } }).value;
  const call = (message: object) =>
    server.fetch('/mcp', {
      method: 'POST',
      token,
      headers: { accept: 'application/json, text/event-stream' },
      json: { jsonrpc: '2.0', id: 1, ...message },
    });
  const listed = await (await call({ method: 'tools/list' })).text();
  assert.doesNotMatch(listed, /token_create/);
  assert.match(
    await (await call({ method: 'tools/call', params: { name: 'token_create', arguments: {} } })).text(),
    /not found/,
  );
});
