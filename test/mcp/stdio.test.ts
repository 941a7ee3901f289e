import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Client, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { cliFile } from '../kit/programs.ts';
import { startTestServer } from '../kit/running-server.ts';

async function connect(home: string, mode: VersionNegotiationMode, args: string[], key?: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', cliFile, 'mcp', '--home', home, ...args],
    env: key ? { OUBLIETTE_API_KEY: key } : {},
    stderr: 'inherit',
  });
  await client.connect(transport);
  return client;
}

// An integer that the client writes as it stands here.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };

const eras: [string, VersionNegotiationMode][] = [
  ['2025', 'legacy'],
  ['2026', { pin: '2026-07-28' }],
];

for (const [era, mode] of eras)
  test(`a ${era} client on stdio is attached to the running server with its key, or with level read without one`, async () => {
    const server = await startTestServer();
    const admin = await connect(server.home, mode, ['--menu', 'own'], server.token);
    assert.ok((await admin.listTools()).tools.some((each) => each.name === 'token_create'));
    const made = await admin.callTool({ name: 'token_list', arguments: {} });
    assert.equal(made.isError, undefined);
    await admin.close();
    const reader = await connect(server.home, mode, ['--menu', 'own']);
    assert.ok(!(await reader.listTools()).tools.some((each) => each.name === 'token_create'));
    await assert.rejects(
      reader.callTool({ name: 'token_create', arguments: { name: 'x', scope: 'admin' } }),
      /not found/,
    );
    await assert.rejects(
      reader.callTool({ name: 'run', arguments: { code: 'a'.repeat(5_000_000) } }),
      (error: Error) => {
        assert.match(error.message, /larger than 4194304 bytes/);
        assert.doesNotMatch(error.message, /cannot be reached/);
        return true;
      },
    );
    await reader.close();
    const bundle = await connect(server.home, mode, ['--menu', 'b/demo']);
    assert.deepEqual(
      (await bundle.listTools()).tools
        .map((each) => each.name)
        .filter((name) => name !== 'ot_result')
        .sort(),
      ['bar', 'foo'],
    );
    const long = { text: rawJSON('9007199254740993') };
    const refused = (await bundle.callTool({ name: 'foo', arguments: long })) as any;
    assert.equal(refused.isError, true);
    assert.match(
      refused.content[0].text,
      /: \/args\/text is 9007199254740993, an integer too long to be carried exactly/,
    );
    await bundle.close();
    await server.stop();
  });

test('what was asked is answered although nothing more can be asked', async () => {
  const server = await startTestServer();
  const ask = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pipe', version: '1' } };
  const run = { name: 'run', arguments: { code: 'demo.foo(text="hello")' } };
  const requests = [ask(1, 'initialize', hello), ask(2, 'tools/list', {}), ask(3, 'tools/call', run)];
  const piped = spawn(process.execPath, [cliFile, 'mcp', '--home', server.home], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  piped.stdin.end(['no JSON at all', ...requests, ''].join('\n'));
  const [said, [code]] = await Promise.all([text(piped.stdout), once(piped, 'exit')]);
  const answers = said
    .trim()
    .split('\n')
    .map((line): any => JSON.parse(line));
  const by = (id: number): any => answers.find((each) => each.id === id);
  assert.equal(by(1).result.protocolVersion, '2025-06-18');
  assert.equal(by(2).result.tools[0].name, 'run');
  assert.equal(by(3).result.content[0].text, 'green');
  assert.equal(code, 0);
  await server.stop();
});

test('one that is told to leave takes its key with it', async () => {
  const server = await startTestServer();
  const keys = async (): Promise<boolean[]> => {
    const answer = await server.fetch('/call/token_list', { method: 'POST', json: { args: {} } });
    const { value } = (await answer.json()) as { value: { tokens: { name: string; revoked: boolean }[] } };
    return value.tokens.filter(({ name }) => name === 'oubliette mcp').map(({ revoked }) => revoked);
  };
  const child = spawn(process.execPath, [cliFile, 'mcp', '--home', server.home], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`);
  await once(child.stdout, 'data');
  assert.deepEqual(await keys(), [false]);
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  assert.deepEqual(await keys(), [true]);
  await server.stop();
});

test('without a running server it serves alone and leaves nothing behind', async () => {
  const home = await mkdtemp(join(tmpdir(), 'oub-'));
  const client = await connect(home, 'legacy', ['--menu', 'b/demo']);
  const result = await client.callTool({ name: 'foo', arguments: { text: 'x' } });
  assert.equal(result.isError, undefined);
  await client.close();
  await rm(home, { recursive: true, force: true });
});

test('a client on stdio outlives a restart of the server', async () => {
  const home = await mkdtemp(join(tmpdir(), 'oub-'));
  const first = await startTestServer({ home });
  const client = await connect(home, 'legacy', ['--menu', 'b/demo'], first.token);
  await client.callTool({ name: 'foo', arguments: { text: 'x' } });
  await first.stop();
  const second = await startTestServer({ home });
  const result = await client.callTool({ name: 'foo', arguments: { text: 'x' } });
  assert.equal(result.isError, undefined);
  await client.close();
  await second.stop();
  await rm(home, { recursive: true, force: true });
});
