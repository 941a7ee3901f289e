import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connected } from '../kit/connected.ts';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

const program = join(root, 'node_modules', '@modelcontextprotocol', 'server-everything', 'dist', 'index.js');
const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
const children: ChildProcess[] = [];
let server: TestServer;
let home: string;
let direct: Client;

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
  const [streamable, sse] = await Promise.all([freePort(), freePort()]);
  for (const [kind, port] of [
    ['streamableHttp', streamable],
    ['sse', sse],
  ] as const)
    children.push(
      spawn(process.execPath, [program, kind], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' }),
    );
  await writeFile(
    join(home, 'config.yaml'),
    `servers:
  everything: { command: ${process.execPath}, args: [${program}, stdio] }
  streamable: { url: "http://127.0.0.1:${streamable}/mcp" }
  older: { url: "http://127.0.0.1:${sse}/sse", type: sse }
`,
  );
  server = await startTestServer({ home });
  direct = prepared(new Client({ name: 'direct', version: '1' }, { capabilities }));
  await direct.connect(
    new StdioClientTransport({ command: process.execPath, args: [program, 'stdio'], stderr: 'ignore' }),
  );
  await connected(server, 10);
});
after(async () => {
  await direct.close();
  await server.stop();
  for (const child of children) child.kill('SIGKILL');
  await rm(home, { recursive: true, force: true });
});

function prepared(client: Client): Client {
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'none',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled' },
  }));
  client.setRequestHandler('elicitation/create', async () => ({
    action: 'accept' as const,
    content: { name: 'Ada', agreed: true },
  }));
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }));
  return client;
}

async function through(bundle: string, mode: VersionNegotiationMode): Promise<Client> {
  const client = prepared(
    new Client({ name: 'through', version: '1' }, { capabilities, versionNegotiation: { mode } }),
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/b/${bundle}`), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } },
    }),
  );
  return client;
}

const eras: [string, VersionNegotiationMode][] = [
  ['2025', 'legacy'],
  ['2026', { pin: '2026-07-28' }],
];
const without = (value: object, keys: string[]): any =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));
const plain = (value: object): any =>
  without(JSON.parse(JSON.stringify(value)) as object, ['_meta', 'ttlMs', 'cacheScope', 'nextCursor']);

for (const [era, mode] of eras) {
  test(`a ${era} client loses no tool, prompt or resource`, async () => {
    const client = await through('everything', mode);
    const ours = plain(await client.listTools()).tools.filter((each: any) => each.name !== 'ot_result');
    const theirs = plain(await direct.listTools()).tools;
    const sorted = (tools: any[]) =>
      tools.map((tool) => without(tool, ['execution'])).sort((a, b) => (a.name < b.name ? -1 : 1));
    assert.deepEqual(sorted(ours), sorted(theirs));
    assert.deepEqual(plain(await client.listPrompts()), plain(await direct.listPrompts()));
    assert.deepEqual(plain(await client.listResources()), plain(await direct.listResources()));
    assert.deepEqual(plain(await client.listResourceTemplates()), plain(await direct.listResourceTemplates()));
    await client.close();
  });

  test(`a ${era} client gets the same answers from every tool, prompt, resource and completion`, async () => {
    const client = await through('everything', mode);
    const calls: [string, Record<string, unknown>][] = [
      ['echo', { message: 'hi' }],
      ['get-sum', { a: 1, b: 2 }],
      ['get-tiny-image', {}],
      ['get-annotated-message', { messageType: 'error', includeImage: true }],
      ['get-structured-content', { location: 'New York' }],
      ['get-resource-links', { count: 3 }],
      ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
      ['trigger-sampling-request', { prompt: 'x', maxTokens: 10 }],
      ['trigger-elicitation-request', {}],
    ];
    // Without a lasting connection nobody can be asked for roots between calls.
    if (era === '2025') calls.push(['get-roots-list', {}]);
    if (era === '2025')
      await until(async () =>
        JSON.stringify(await client.callTool({ name: 'get-roots-list', arguments: {} })).includes('file:///here'),
      );
    for (const [name, args] of calls) {
      const [a, b] = [
        plain(await client.callTool({ name, arguments: args })),
        plain(await direct.callTool({ name, arguments: args })),
      ];
      const timeless = (value: unknown): unknown =>
        JSON.parse(JSON.stringify(value).replace(/\d{1,2}:\d{2}:\d{2} ?[AP]?M?/g, 'TIME'));
      assert.deepEqual(timeless(a), timeless(b), name);
    }
    const prompt = { name: 'args-prompt', arguments: { city: 'Oslo', state: 'x' } };
    assert.deepEqual(plain(await client.getPrompt(prompt)), plain(await direct.getPrompt(prompt)));
    const complete = {
      ref: { type: 'ref/prompt' as const, name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    };
    assert.deepEqual(plain(await client.complete(complete)), plain(await direct.complete(complete)));
    const [resource] = (await direct.listResources()).resources;
    assert.ok(resource);
    assert.deepEqual(
      plain(await client.readResource({ uri: resource.uri })),
      plain(await direct.readResource({ uri: resource.uri })),
    );
    await client.close();
  });

  test(`a ${era} client sees the progress of a long operation`, async () => {
    const client = await through('everything', mode);
    const seen: number[] = [];
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.4, steps: 4 } },
      { onprogress: ({ progress }) => seen.push(progress) },
    );
    assert.deepEqual(seen, [1, 2, 3, 4]);
    await client.close();
  });

  for (const bundle of ['streamable', 'older'])
    test(`a ${era} client reaches a server behind HTTP (${bundle})`, async () => {
      const client = await through(bundle, mode);
      const sum = await client.callTool({ name: 'get-sum', arguments: { a: 20, b: 22 } });
      assert.match(JSON.stringify(sum.content), /42/);
      const sampled = await client.callTool({
        name: 'trigger-sampling-request',
        arguments: { prompt: 'x', maxTokens: 10 },
      });
      assert.match(JSON.stringify(sampled.content), /sampled/);
      await client.close();
    });
}

test('a 2025 client is told of resources it follows', async () => {
  const client = await through('everything', 'legacy');
  const { resourceTemplates } = await client.listResourceTemplates();
  const uri = String(resourceTemplates[0]?.uriTemplate).replace(/\{[^}]+\}/, '1');
  const updated = new Promise<string>((resolve) =>
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri)),
  );
  await client.subscribeResource({ uri });
  await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
  assert.equal(
    await Promise.race([updated, new Promise((resolve) => setTimeout(() => resolve('nothing'), 60_000).unref())]),
    uri,
  );
  await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
  await client.close();
});

test('a client of the older SDK works', async () => {
  const client = new OldClient({ name: 'old', version: '1' }, { capabilities: {} });
  await client.connect(
    new OldTransport(new URL(`${server.url}/mcp/b/everything`), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } },
    }),
  );
  const { tools } = await client.listTools();
  assert.ok(tools.some((each) => each.name === 'echo'));
  const result = await client.callTool({ name: 'echo', arguments: { message: 'old' } });
  assert.match(JSON.stringify(result.content), /old/);
  await client.close();
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
