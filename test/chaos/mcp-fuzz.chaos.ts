import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from '../kit/fast-check.ts';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';

export const about =
  'fuzzed MCP requests of both eras on every menu, with upstream servers that hang, flood and die: each is answered, nothing breaks';
export const full = 4000;

const answerWithinMs = 60_000;
const raw = join(root, 'test', 'mcp', 'raw-server.ts');
const server = (...args: string[]) => ({ command: process.execPath, args: [raw, ...args], timeoutMs: 1000 });

const version = '2026-07-28';
const names = [
  'run',
  'echo',
  'die',
  'slow',
  'ask',
  'picture',
  'demo_foo',
  'project_list',
  'ot_result',
  '',
  '__proto__',
  'a'.repeat(3000),
  'é\u202e',
];
const methods = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'tasks/get',
  '',
  'constructor',
];

const oddJson = fc.jsonValue({ maxDepth: 4 });
const args = fc.oneof(
  oddJson,
  fc.record(
    { text: fc.oneof(fc.string(), oddJson), code: fc.oneof(fc.string(), fc.constant('1 + 1')) },
    { requiredKeys: [] },
  ),
);
const meta = fc.oneof(
  fc.constant(undefined),
  oddJson,
  fc.record(
    {
      'io.modelcontextprotocol/protocolVersion': fc.constantFrom<unknown>(version, '2031-01-01', 5),
      'io.modelcontextprotocol/clientCapabilities': fc.oneof(
        fc.constant({}),
        fc.constant({ elicitation: {} }),
        oddJson,
      ),
      'io.modelcontextprotocol/logLevel': fc.constantFrom('debug', 'loud'),
      progressToken: fc.constantFrom<unknown>(1, 'p', {}, null),
    },
    { requiredKeys: [] },
  ),
);
const params = fc.oneof(
  oddJson,
  fc.record(
    {
      name: fc.oneof(fc.constantFrom<unknown>(...names), oddJson),
      arguments: args,
      _meta: meta,
      cursor: oddJson,
      uri: fc.constantFrom<unknown>(
        'ot://tools',
        'ot://tool/%',
        'oubliette://sessions/../events',
        'file:///etc/passwd',
        5,
      ),
      requestState: oddJson,
      inputResponses: oddJson,
      protocolVersion: fc.constantFrom<unknown>('2025-11-25', '1', 5),
      capabilities: oddJson,
      clientInfo: oddJson,
      notifications: oddJson,
      requestId: oddJson,
      level: oddJson,
      ref: oddJson,
      argument: oddJson,
    },
    { requiredKeys: [] },
  ),
);
const message = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>('2.0', '2.0', '2.0', '1.0', 2),
    id: fc.constantFrom<unknown>(1, 'x', null, 1.5, {}, -0),
    method: fc.constantFrom<unknown>(...methods, 5),
    params,
  },
  { requiredKeys: ['jsonrpc'] },
);
const body = fc.oneof(
  { weight: 8, arbitrary: message.map((each) => JSON.stringify(each)) },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 4 }).map((each) => JSON.stringify(each)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      '{',
      '[[[[[[',
      'null',
      '"x"',
      `${'['.repeat(5000)}`,
      '{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
    ),
  },
);
const sent = fc.record({
  path: fc.constantFrom('/mcp', '/mcp/run', '/mcp/b/raw', '/mcp/b/deaf', '/mcp/b/demo', '/mcp/b/%2e%2e', '/mcp/b/gone'),
  verb: fc.constantFrom('POST', 'POST', 'POST', 'POST', 'GET', 'DELETE', 'PUT'),
  headers: fc.record(
    {
      accept: fc.constantFrom('application/json, text/event-stream', 'application/json, text/event-stream', '*/*'),
      'content-type': fc.constantFrom(
        'application/json',
        'application/json',
        'text/plain',
        'application/json; charset=utf-16',
      ),
      'mcp-protocol-version': fc.constantFrom(version, '2025-11-25', '0'),
      'mcp-method': fc.constantFrom('tools/call', 'tools/list', 'x'),
      'mcp-name': fc.constantFrom('echo', 'run', '=?base64?!!?='),
      'mcp-session-id': fc.constantFrom('none', '00000000-0000-4000-8000-000000000000'),
    },
    { requiredKeys: [] },
  ),
  body,
});

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { requests: 0, answered: 0, served: 0 }, violations: [] };
  const home = await mkdtemp(join(tmpdir(), 'oub-mcp-fuzz-'));
  const servers = { raw: server('odd', 'noise'), deaf: server('hang'), flood: server('flood') };
  await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers }));
  const target = await startTestServer({ home, args: ['--log', 'error'] });
  try {
    const cases = fc.sample(sent, rounds);
    for (let at = 0; at < cases.length; at += 16) {
      await Promise.all(cases.slice(at, at + 16).map((each) => judge(target, each, tally)));
      const answer = await target.fetch('/call/demo_foo', { method: 'POST', json: { args: { text: 'x' } } });
      if (answer.status === 200 && ((await answer.json()) as { ok: boolean }).ok) tally.counted['served']!++;
      else tally.violations.push(`others are not served: ${answer.status}`);
    }
  } finally {
    const code = await target.stop();
    if (code !== 0) tally.violations.push(`the server ended with ${code}: ${target.errors().slice(-500)}`);
    await rm(home, { recursive: true, force: true });
  }
  return tally;
}

async function judge(
  target: TestServer,
  { path, verb, headers, body: text }: { path: string; verb: string; headers: object; body: string },
  tally: Tally,
): Promise<void> {
  tally.counted['requests']!++;
  const what = JSON.stringify({ path, verb, headers, body: text.slice(0, 400) });
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), answerWithinMs);
  try {
    const hasBody = verb !== 'GET' && verb !== 'DELETE';
    const answer = await target.fetch(path, {
      method: verb,
      headers: headers as Record<string, string>,
      signal: patience.signal,
      ...(hasBody && { body: text }),
    });
    // A subscription stays open; that it was opened is the answer.
    const isStream =
      answer.headers.get('content-type')?.includes('event-stream') && text.includes('subscriptions/listen');
    if (isStream) await answer.body?.cancel();
    else if (answer.status < 500) await answer.text();
    if (answer.status >= 500)
      tally.violations.push(`${answer.status} ${(await answer.text()).slice(0, 200)} for ${what}`);
    else tally.counted['answered']!++;
  } catch (error) {
    tally.violations.push(`${patience.signal.aborted ? 'no answer' : String(error)} for ${what}`);
  } finally {
    clearTimeout(timer);
  }
}
