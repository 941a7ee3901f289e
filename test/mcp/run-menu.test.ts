import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { connected } from '../kit/connected.ts';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';

let server: TestServer;
let home: string;
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
  const raw = (...args: string[]) => ({
    command: process.execPath,
    args: [join(root, 'test', 'mcp', 'raw-server.ts'), ...args],
    timeoutMs: 30_000,
  });
  await writeFile(
    join(home, 'config.yaml'),
    JSON.stringify({ servers: { time: raw('odd'), my_server: raw(), class: raw(), demo: raw() } }),
  );
  server = await startTestServer({ home });
  await connected(server);
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

async function connect(mode: VersionNegotiationMode): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(server.mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } },
    }),
  );
  return client;
}

for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
  test(`/mcp/run shows run alone, briefly, and refuses everything else (${typeof mode === 'string' ? '2025' : '2026'})`, async () => {
    const client = await connect(mode);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map((each) => each.name),
      ['run'],
    );
    const instructions = client.getInstructions() ?? '';
    assert.ok(instructions.split('\n').length < 25);
    const bare = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const text = JSON.stringify(bare) + instructions;
    assert.ok(encode(text).length < 600, `${encode(text).length} tokens`);
    assert.ok(Buffer.byteLength(text) < 3000, `${Buffer.byteLength(text)} bytes`);
    for (const name of ['demo_foo', 'project_list', 'time_echo', 'ot_help'])
      await assert.rejects(client.callTool({ name, arguments: {} }), /not found/);
    await client.close();
  });

  test(`a program calls proxied tools by their pack (${typeof mode === 'string' ? '2025' : '2026'})`, async () => {
    const client = await connect(mode);
    const run = async (code: string) => {
      const result = await client.callTool({ name: 'run', arguments: { code } });
      return {
        text: (result.content as { text: string }[])[0]?.text ?? '',
        isError: result.isError,
        meta: result._meta,
      };
    };
    assert.equal((await run('time_.echo(text="hi")')).text, 'hi');
    assert.equal((await run('my_server.echo(text="hi")')).text, 'hi');
    assert.equal((await run('time_.Add_Numbers_now(a=1, b=2)["sum"]')).text, '3');
    assert.equal((await run('time_.import_()')).isError, true);
    assert.match((await run('time_.monty()')).text, /__monty_type__/);
    assert.equal((await run('demo.foo(text="x")')).isError, undefined);
    const failed = await run('time_.fail()');
    assert.equal(failed.isError, true);
    assert.match(failed.text, /it did not work/);
    await client.close();
  });
}

test('a local bundle wins over a server of the same name, and the list of servers says so', async () => {
  const answer = await server.fetch('/call/server_list', { method: 'POST', json: { args: {} } });
  const { servers } = ((await answer.json()) as { value: { servers: { name: string; warnings: string[] }[] } }).value;
  assert.match(servers.find((each) => each.name === 'demo')?.warnings.join() ?? '', /wins over/);
  const called = await server.fetch('/call/demo_foo', { method: 'POST', json: { args: { text: 'x' } } });
  assert.equal(((await called.json()) as { ok: boolean }).ok, true);
  const health = await server.fetch('/call/ot_health', { method: 'POST', json: { args: {} } });
  const { warnings } = ((await health.json()) as { value: { warnings: string[] } }).value;
  assert.equal(warnings.filter((text) => /^demo: .*wins/.test(text)).length, 1, 'a clash is told once');
});

test('a server whose name is a word of Python keeps it everywhere but in programs', async () => {
  const value = async (name: string, args: object): Promise<unknown> => {
    const answer = await server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
    return ((await answer.json()) as { value: unknown }).value;
  };
  assert.equal(await value('class_echo', { text: 'hi' }), 'hi');
  assert.equal(await value('run', { code: 'class_.echo(text="hi")' }), 'hi');
  assert.match(String(await value('ot_help', { query: 'class_' })), /^# class_\n[^]*\/reference\/tools\/class\/$/);
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/b/class`), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } },
    }),
  );
  const said = await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
  assert.deepEqual(said.content, [{ type: 'text', text: 'hi' }]);
  await client.close();
});

test('a proxied tool is called over REST by its name, and a disabled one is refused with the reason', async () => {
  const ask = async (name: string, args: object) => {
    const answer = await server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
    return { status: answer.status, body: (await answer.json()) as any };
  };
  assert.deepEqual((await ask('time_echo', { text: 'hi' })).body, { ok: true, value: 'hi' });
  const broken = await ask('time_broken', {});
  assert.equal(broken.status, 409);
  assert.match(broken.body.error.message, /not valid/);
  const mute = await ask('time_constructor', {});
  assert.deepEqual(mute.body.error, {
    code: 'tool.failed',
    message: 'It failed and did not say why.',
    retryable: false,
  });
  const picture = await ask('time_picture', {});
  const [image] = picture.body.value.content;
  assert.equal(image.mimeType, 'image/png');
  const blob = await server.fetch(`/blobs/${image.blob_id}`);
  assert.equal(await blob.text(), 'png!');
});

test('a large answer becomes a handle that can be read on', async () => {
  const client = await connect('legacy');
  const url = new URL(`${server.url}/mcp/b/my_server`);
  const bundle = new Client({ name: 'test', version: '1' });
  await bundle.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${server.token}` } } }),
  );
  const result = await bundle.callTool({ name: 'echo', arguments: { text: 'line\n'.repeat(20_000) } });
  const kept = JSON.parse((result.content as { text: string }[])[0]?.text ?? '{}') as {
    handle: string;
    size_bytes: number;
  };
  assert.ok(kept.handle && kept.size_bytes >= 100_000, JSON.stringify(kept).slice(0, 300));
  const rest = await bundle.callTool({ name: 'ot_result', arguments: { handle: kept.handle, offset: 1, limit: 2 } });
  assert.match(JSON.stringify(rest.content), /line/);
  await bundle.close();
  await client.close();
});
