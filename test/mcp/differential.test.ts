import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

// The same server behind the SDK's own HTTP handlers and behind ours: whatever is sent, both must answer alike.
const fixture = join(root, 'test', 'conformance', 'fixture.ts');
let server: TestServer;
let home: string;
let child: ChildProcess;
const sides: Record<'theirs' | 'ours', { url: string; headers: Record<string, string> }> = {
  theirs: { url: '', headers: {} },
  ours: { url: '', headers: {} },
};

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
  await writeFile(
    join(home, 'config.yaml'),
    JSON.stringify({ servers: { fixture: { command: process.execPath, args: [fixture, 'stdio'] } } }),
  );
  server = await startTestServer({ home });
  child = spawn(process.execPath, [fixture, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  sides.theirs.url = `http://127.0.0.1:${port}/mcp`;
  sides.ours = { url: `${server.url}/mcp/b/fixture`, headers: { authorization: `Bearer ${server.token}` } };
  await until(async () =>
    JSON.stringify((await send('ours', post({ method: 'tools/list' }))).body).includes('test_simple_text'),
  );
});
after(async () => {
  child.kill('SIGKILL');
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

interface Sent {
  method: string;
  headers?: Record<string, string>;
  body?: string;
}
interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: unknown;
}

const both = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const post = (message: object, headers: Record<string, string> = {}): Sent => ({
  method: 'POST',
  headers: { ...both, ...headers },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
});
const shown = ['content-type', 'allow', 'cache-control', 'x-accel-buffering'];

function send(side: 'theirs' | 'ours', { method, headers, body }: Sent): Promise<Answer & { session?: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      sides[side].url,
      { method, headers: { ...sides[side].headers, ...headers } },
      (response) => {
        let text = '';
        const done = (): void => {
          const picked = Object.fromEntries(
            shown.flatMap((name) => (response.headers[name] === undefined ? [] : [[name, response.headers[name]]])),
          );
          resolve({
            status: response.statusCode ?? 0,
            headers: picked,
            body: plain(text, String(response.headers['content-type'])),
            session: response.headers['mcp-session-id'] as string | undefined,
          });
        };
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', done);
        // A GET stream has no end of its own.
        if (method === 'GET' && response.statusCode === 200) setTimeout(() => (done(), request.destroy()), 50);
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** What differs because the servers are called differently is made the same. */
function plain(text: string, type: string): unknown {
  const messages = type.includes('event-stream')
    ? Array.from(text.matchAll(/^data: (.+)$/gm), ([, data]) => data!)
    : [text].filter((each) => each !== '');
  return messages.map((message) => {
    const same = JSON.stringify(JSON.parse(message))
      .replaceAll('"name":"oubliette"', '"name":"fixture"')
      .replace(/("name":"fixture","version":)"[^"]*"/g, '$1"x"');
    const value = JSON.parse(same);
    if (value.result?.tools)
      value.result.tools = value.result.tools
        .filter((tool: any) => tool.name !== 'ot_result')
        .sort((a: any, b: any) => (a.name < b.name ? -1 : 1));
    if (value.result?.instructions === undefined) delete value.result?.instructions;
    return value;
  });
}

async function alike(what: string, sent: Sent, sessions?: Record<'theirs' | 'ours', string>): Promise<void> {
  const withSession = (side: 'theirs' | 'ours'): Sent =>
    sessions ? { ...sent, headers: { ...sent.headers, 'mcp-session-id': sessions[side] } } : sent;
  const [theirs, ours] = await Promise.all([send('theirs', withSession('theirs')), send('ours', withSession('ours'))]);
  const visible = ({ status, headers, body, session }: Answer & { session?: string }) => ({
    status,
    headers,
    body,
    hasSession: session !== undefined,
  });
  assert.deepEqual(visible(ours), visible(theirs), what);
}

const initialize = (version: string) =>
  post({
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 't', version: '1' } },
  });

async function openBoth(): Promise<Record<'theirs' | 'ours', string>> {
  const [theirs, ours] = await Promise.all([
    send('theirs', initialize('2025-11-25')),
    send('ours', initialize('2025-11-25')),
  ]);
  return { theirs: theirs.session ?? '', ours: ours.session ?? '' };
}

for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '1999-01-01'])
  test(`initialize with ${version} is answered alike`, () => alike(version, initialize(version)));

test('a session of the 2025 era is served alike', async () => {
  const sessions = await openBoth();
  const call = (params: unknown) => post({ method: 'tools/call', params } as object);
  const cases: Record<string, Sent> = {
    ping: post({ method: 'ping' }),
    list: post({ method: 'tools/list' }),
    'list with params': post({ method: 'tools/list', params: {} }),
    'list with null for params': post({ method: 'tools/list', params: null }),
    'list with a list for params': post({ method: 'tools/list', params: [] }),
    'list with an odd cursor': post({ method: 'tools/list', params: { cursor: 5 } }),
    call: call({ name: 'test_simple_text' }),
    'call with a string id': {
      ...call({ name: 'test_simple_text', arguments: {} }),
      body: JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: { name: 'test_simple_text' } }),
    },
    'call with progress': call({ name: 'test_tool_with_progress', _meta: { progressToken: 'p' } }),
    'call with logging': call({ name: 'test_tool_with_logging' }),
    'call of what fails': call({ name: 'test_error_handling' }),
    'call of nothing': call({ name: 'nothing' }),
    'call without a name': call({}),
    'call with a list as arguments': call({ name: 'test_simple_text', arguments: [1] }),
    'unknown method': post({ method: 'nothing/here' }),
    notification: {
      method: 'POST',
      headers: both,
      body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    },
    'a response': { method: 'POST', headers: both, body: JSON.stringify({ jsonrpc: '2.0', id: 7, result: {} }) },
    'accepts only JSON': { ...post({ method: 'ping' }), headers: { ...both, accept: 'application/json' } },
    'no content type': { ...post({ method: 'ping' }), headers: { accept: both.accept } },
    'plain text': { ...post({ method: 'ping' }), headers: { ...both, 'content-type': 'text/plain' } },
    'content type with charset': {
      ...post({ method: 'ping' }),
      headers: { ...both, 'content-type': 'application/json; charset=utf-8' },
    },
    'broken JSON': { method: 'POST', headers: both, body: '{"jsonrpc":' },
    'no body': { method: 'POST', headers: both, body: '' },
    'a number': { method: 'POST', headers: both, body: '5' },
    'no JSON-RPC': { method: 'POST', headers: both, body: '{"hello":1}' },
    'empty batch': { method: 'POST', headers: both, body: '[]' },
    batch: {
      method: 'POST',
      headers: both,
      body: JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/initialized' },
      ]),
    },
    'huge batch': {
      method: 'POST',
      headers: both,
      body: JSON.stringify(Array.from({ length: 101 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }))),
    },
    'initialize again': initialize('2025-11-25'),
    'initialize in a batch': {
      method: 'POST',
      headers: both,
      body: `[${initialize('2025-11-25').body},${initialize('2025-11-25').body}]`,
    },
    'known version header': post({ method: 'ping' }, { 'mcp-protocol-version': '2025-06-18' }),
    'unknown version header': post({ method: 'ping' }, { 'mcp-protocol-version': '2020-01-01' }),
    'prompts/list': post({ method: 'prompts/list' }),
    'prompts/get': post({ method: 'prompts/get', params: { name: 'test_simple_prompt' } }),
    'resources/read': post({ method: 'resources/read', params: { uri: 'test://static-text' } }),
    'resources/read of nothing': post({ method: 'resources/read', params: { uri: 'test://nothing' } }),
    'completion/complete': post({
      method: 'completion/complete',
      params: {
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'par' },
      },
    }),
    'logging/setLevel': post({ method: 'logging/setLevel', params: { level: 'info' } }),
    'GET without accept': { method: 'GET' },
    GET: { method: 'GET', headers: { accept: 'text/event-stream' } },
  };
  for (const [what, sent] of Object.entries(cases)) await alike(what, sent, sessions);
  const nothing = { theirs: 'nothing', ours: 'nothing' };
  const stream = { method: 'GET', headers: { accept: 'text/event-stream' } };
  await alike('GET of an unknown session', stream, nothing);
  await alike(
    'GET of an unknown version',
    { ...stream, headers: { ...stream.headers, 'mcp-protocol-version': '2020-01-01' } },
    sessions,
  );
  // Those of 2026 have no sessions: to them only POST is of any use.
  for (const sent of [stream, { method: 'DELETE' }]) {
    const { status, headers } = await send('ours', sent);
    assert.deepEqual([status, headers['allow']], [405, 'POST'], sent.method);
  }
  await alike('DELETE of an unknown session', { method: 'DELETE' }, nothing);
  await alike(
    'DELETE of an unknown version',
    { method: 'DELETE', headers: { 'mcp-protocol-version': '2020-01-01' } },
    sessions,
  );
  await alike('PUT', { method: 'PUT', headers: both, body: '{}' }, sessions);
  await alike('DELETE', { method: 'DELETE' }, sessions);
  await alike('after DELETE', post({ method: 'ping' }), sessions);
  await alike('unknown session', post({ method: 'ping' }), nothing);
});

test('requests of the 2026 era are served alike, right and wrong ones', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
  };
  const modern = (
    method: string,
    params: Record<string, unknown> = {},
    headers: Record<string, string | undefined> = {},
  ): Sent => {
    const named = typeof params['name'] === 'string' ? { 'mcp-name': params['name'] } : {};
    const all = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...named, ...headers };
    const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<
      string,
      string
    >;
    return post({ method, params: { _meta: meta, ...params } }, kept);
  };
  const cases: Record<string, Sent> = {
    discover: modern('server/discover'),
    list: modern('tools/list'),
    'list with an odd cursor': modern('tools/list', { cursor: 5 }),
    call: modern('tools/call', { name: 'test_simple_text' }),
    'call with arguments': modern('tools/call', { name: 'test_simple_text', arguments: {} }),
    'call with structured progress': modern('tools/call', {
      name: 'test_tool_with_progress',
      _meta: { ...meta, progressToken: 3 },
    }),
    'call with logging, unwanted': modern('tools/call', { name: 'test_tool_with_logging' }),
    'call with logging, wanted': modern('tools/call', {
      name: 'test_tool_with_logging',
      _meta: { ...meta, 'io.modelcontextprotocol/logLevel': 'debug' },
    }),
    'call of what fails': modern('tools/call', { name: 'test_error_handling' }),
    'call of nothing': modern('tools/call', { name: 'nothing' }),
    'call without a name': modern('tools/call', {}),
    'call with a list as arguments': modern('tools/call', { name: 'test_simple_text', arguments: [1] }),
    'call that asks': modern('tools/call', {
      name: 'test_input_required_result_elicitation',
      _meta: { ...meta, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } },
    }),
    'call that asks what cannot be answered': modern('tools/call', { name: 'test_input_required_result_elicitation' }),
    'call without a capability': modern('tools/call', { name: 'test_missing_capability' }),
    'call with answers': modern('tools/call', {
      name: 'test_input_required_result_elicitation',
      inputResponses: { user_name: { action: 'accept', content: { name: 'Ada' } } },
    }),
    'call with a made-up state': modern('tools/call', {
      name: 'test_input_required_result_tampered_state',
      requestState: 'v1.made.up',
    }),
    'no version header': modern('tools/list', {}, { 'mcp-protocol-version': undefined }),
    'no method header': modern('tools/list', {}, { 'mcp-method': undefined }),
    'no name header': modern('tools/call', { name: 'test_simple_text' }, { 'mcp-name': undefined }),
    'another method in the header': modern('tools/list', {}, { 'mcp-method': 'tools/call' }),
    'another name in the header': modern('tools/call', { name: 'test_simple_text' }, { 'mcp-name': 'other' }),
    'a name in base64': modern(
      'tools/call',
      { name: 'test_simple_text' },
      { 'mcp-name': `=?base64?${Buffer.from('test_simple_text').toString('base64')}?=` },
    ),
    'another version in the header': modern('tools/list', {}, { 'mcp-protocol-version': '2025-11-25' }),
    'a version nobody knows': modern(
      'tools/list',
      { _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2031-01-01' } },
      { 'mcp-protocol-version': '2031-01-01' },
    ),
    'no envelope': modern('tools/list', { _meta: {} }),
    'no capabilities': modern('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }),
    'odd client info': modern('tools/list', { _meta: { ...meta, 'io.modelcontextprotocol/clientInfo': 5 } }),
    'ping is gone': modern('ping'),
    'unknown method': modern('nothing/here'),
    'initialize in an envelope': modern('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }),
    'prompts/get': modern('prompts/get', { name: 'test_simple_prompt' }),
    'resources/read of nothing': modern('resources/read', { uri: 'test://nothing' }, { 'mcp-name': 'test://nothing' }),
    notification: {
      method: 'POST',
      headers: { ...both, 'mcp-protocol-version': '2026-07-28' },
      body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }),
    },
    'batch of the new kind': { method: 'POST', headers: both, body: `[${modern('tools/list').body}]` },
  };
  for (const [what, sent] of Object.entries(cases)) await alike(what, sent);
});
