import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connected } from '../kit/connected.ts';
import { oubliette, startTestServer, type TestServer } from '../kit/running-server.ts';
import { answered, digits } from './long-answers.ts';
import { longHttpServer } from './long-http-server.ts';

// An integer that JavaScript would round passes through as the other server wrote it.
let http: Awaited<ReturnType<typeof longHttpServer>>;
let server: TestServer;
/** Another server of ours, to which the first one is a server of the 2026 era. */
let behind: TestServer;
const homes: string[] = [];

async function serve(servers: object): Promise<TestServer> {
  const home = await mkdtemp(join(tmpdir(), 'oub-'));
  homes.push(home);
  await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers }));
  const started = await startTestServer({ home });
  await connected(started);
  return started;
}

before(async () => {
  http = await longHttpServer();
  server = await serve({
    pipe: { command: process.execPath, args: [join(import.meta.dirname, 'long-server.ts')] },
    plain: { url: `${http.origin}/json` },
    stream: { url: `${http.origin}/stream` },
    sse: { url: `${http.origin}/sse`, type: 'sse' },
  });
  behind = await serve({
    modern: { url: `${server.url}/mcp/b/pipe`, headers: { Authorization: `Bearer ${server.token}` } },
  });
});
after(async () => {
  await behind?.stop();
  await server?.stop();
  http.close();
  for (const home of homes) await rm(home, { recursive: true, force: true });
});

const places = ['pipe', 'plain', 'stream', 'sse', 'modern'] as const;
const serverOf = (place: string): TestServer => (place === 'modern' ? behind : server);

const rest = async (place: string, tool: string, args: object = {}, accept = 'application/json'): Promise<string> =>
  (
    await serverOf(place).fetch(`/call/${place}_${tool}`, { method: 'POST', json: { args }, headers: { accept } })
  ).text();

const modernMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** The text of what MCP answers, in either era, with the SDK or without. */
async function mcp(place: string, path: string, method: string, params: Record<string, unknown>, way: string) {
  const meta = way === '2025' ? {} : { _meta: modernMeta };
  const name = String(params['name']);
  const headers = {
    accept: 'application/json, text/event-stream',
    ...(way !== '2025' && {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': way === 'SDK' ? `=?base64?${Buffer.from(name).toString('base64')}?=` : name,
    }),
  };
  const json = { jsonrpc: '2.0', id: 1, method, params: { ...params, ...meta } };
  const answer = await serverOf(place).fetch(path, { method: 'POST', json, headers });
  return answer.text();
}

for (const place of places)
  test(`REST and programs get them from a server by ${place}, structured and as text`, async () => {
    assert.equal(await rest(place, 'get'), `{"ok":true,"value":${answered}}`);
    assert.equal(await rest(place, 'words'), `{"ok":true,"value":${answered}}`);
    assert.ok((await rest(place, 'get', {}, 'text/event-stream')).includes(`"value":${answered}`));
    const code = `[${place}.get()["id"] + 1, ${place}.words()["list"][0], ${place}.get()]`;
    const ran = await serverOf(place).fetch('/call/run', { method: 'POST', json: { args: { code } } });
    assert.equal(
      ((await ran.json()) as { value: unknown }).value,
      `[1234567890123456790,-9007199254740993,${answered}]`,
    );
  });

for (const place of places)
  for (const way of ['2025', '2026', 'SDK'])
    test(`an MCP client gets them from a server by ${place} (${way})`, async () => {
      const result = await mcp(place, `/mcp/b/${place}`, 'tools/call', { name: 'get', arguments: {} }, way);
      assert.ok(result.includes(`"structuredContent":${answered}`), result);
      assert.ok(result.includes(`"at":${digits}`), result);
      const failed = await mcp(place, `/mcp/b/${place}`, 'tools/call', { name: 'fail', arguments: {} }, way);
      assert.ok(failed.includes(`"structuredContent":${answered}`), failed);
      const code = `${place}.get()["id"] - 1`;
      const ran = await mcp(place, '/mcp/run', 'tools/call', { name: 'run', arguments: { code } }, way);
      assert.ok(ran.includes('"text":"1234567890123456788"'), ran);
      const prompt = await mcp(place, `/mcp/b/${place}`, 'prompts/get', { name: 'p' }, way);
      assert.ok(prompt.includes(`"at":${digits},"near":[-9007199254740993]`), prompt);
    });

test('the command line shows them', async () => {
  const run = (...args: string[]) => oubliette([...args, '--home', server.home]);
  assert.equal((await run('call', 'pipe_get', '--json')).out, `{"ok":true,"value":${answered}}\n`);
  assert.ok((await run('call', 'plain_get')).out.includes(`"id": ${digits},`));
  assert.equal((await run('run', 'pipe.get()["id"] * 2')).out, '2469135780246913578\n');
});

for (const era of ['2025-11-25', '2026-07-28'])
  test(`a client on stdio gets them (${era})`, async () => {
    const hello = { protocolVersion: era, capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    const params = { name: 'get', arguments: {}, ...(era === '2026-07-28' && { _meta: modernMeta }) };
    const messages = [
      ...(era === '2026-07-28' ? [] : [{ id: 1, method: 'initialize', params: hello }]),
      { id: 2, method: 'tools/call', params },
    ];
    const input = messages.map((each) => `${JSON.stringify({ jsonrpc: '2.0', ...each })}\n`).join('');
    const { out } = await oubliette(['mcp', '--menu', 'b/pipe', '--home', server.home], {
      input,
      env: { OUBLIETTE_API_KEY: server.token },
    });
    assert.ok(out.includes(`"structuredContent":${answered}`), out);
  });

test('they are integers to an output schema', async () => {
  assert.match(await rest('pipe', 'wrong'), /\/value\/id must be object, found integer/);
});

test('one alone is structured content in 2026, where that need not be an object', async () => {
  const bare = (way: string) => mcp('pipe', '/mcp/b/pipe', 'tools/call', { name: 'bare', arguments: {} }, way);
  assert.ok((await bare('2026')).includes(`"structuredContent":${digits}`));
  assert.ok(!(await bare('2025')).includes('structuredContent'));
  assert.equal(await rest('pipe', 'bare'), `{"ok":true,"value":${digits}}`);
});

test('a large answer is kept with them', async () => {
  const result = await mcp('pipe', '/mcp/b/pipe', 'tools/call', { name: 'many', arguments: {} }, '2026');
  const { handle, shape } = JSON.parse(JSON.parse(result).result.content[0].text);
  assert.equal(shape, 'dict(ids: list of 20000 int)');
  const lines = await (
    await server.fetch('/call/ot_result', { method: 'POST', json: { args: { handle, offset: 3, limit: 1 } } })
  ).text();
  assert.ok(lines.includes(digits), lines);
});

const post = (place: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  serverOf(place).fetch(`/mcp/b/${place}`, {
    method: 'POST',
    body,
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
  });
const given = `{"action":"accept","content":{"id":${digits}}}`;
const asked = `"default":${digits}`;
/** The answer as the server read it, inside a text. */
const told = JSON.stringify(`"result":${given}`).slice(1, -1);

for (const place of ['pipe', 'modern']) {
  test(`what a server by ${place} asks and logs, and what it is answered, has them (2025)`, async () => {
    const client = `"capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}`;
    const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",${client}}}`;
    const greeted = await post(place, hello);
    await greeted.text();
    const headers = { 'mcp-session-id': greeted.headers.get('mcp-session-id') ?? '' };
    const params = `{"name":"ask","arguments":{},"_meta":{"progressToken":${digits}}}`;
    const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${params}}`;
    const { body } = await post(place, call, headers);
    let text = '';
    for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const id = /"id":("ask-\d+")/.exec(piece)?.[1];
      if (id) await post(place, `{"jsonrpc":"2.0","id":${id},"result":${given}}`, headers);
    }
    assert.ok(text.includes(asked), text);
    assert.ok(text.includes(`"data":{"id":${digits}}`), text);
    assert.ok(text.includes(`"progressToken":${digits}`), text);
    assert.ok(text.includes(told), text);
  });

  test(`what a server by ${place} asks, and what it is answered, has them (2026)`, async () => {
    const meta = `"_meta":${JSON.stringify({ ...modernMeta, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } })}`;
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'ask' };
    const call = (more: string): string =>
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{},${meta}${more}}}`;
    const first = await (await post(place, call(''), headers)).text();
    assert.ok(first.includes(asked), first);
    const { inputRequests, requestState } = JSON.parse(first).result;
    const [key] = Object.keys(inputRequests);
    const again = `,"inputResponses":{"${key}":${given}},"requestState":${JSON.stringify(requestState)}`;
    const second = await (await post(place, call(again), headers)).text();
    assert.ok(second.includes(told), second);
  });
}
