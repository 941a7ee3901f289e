import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { oldServer, type OldServer } from '../../../test/mcp/old-http-server.ts';
import { callAs, closeServers, connected, openServers, run } from '../../../test/mcp/upstream-bench.ts';

const opened: OldServer[] = [];
afterEach(async () => {
  await closeServers();
  for (const each of opened.splice(0)) each.close();
});

type Answer = { status?: number; result?: object; error?: object };

/** A server of the 2026 era, until `isOld`; `call` is what it answers to calls. */
async function connect(call: () => Answer) {
  const state = { isOld: false };
  const server = await oldServer({
    before(incoming, outgoing, body) {
      if (state.isOld) return false;
      if (incoming.method !== 'POST') return Boolean(outgoing.writeHead(405).end());
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const { status = 200, ...answer } = method === 'tools/call' ? call() : (answers[method] ?? unknown);
      outgoing.writeHead(status, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
      return true;
    },
  });
  opened.push(server);
  const { servers } = await openServers({ mine: { url: server.url } });
  await connected(servers);
  assert.equal((await servers.status())[0]?.protocol, '2026-07-28');
  return { servers, state };
}

const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
const answers: Record<string, Answer> = {
  'server/discover': {
    result: {
      ...complete,
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      serverInfo: { name: 'new', version: '1' },
    },
  },
  'tools/list': { result: { ...complete, tools: [{ name: 'hi', inputSchema: { type: 'object' } }] } },
};
const unknown: Answer = { error: { code: -32601, message: 'Method not found' } };

for (const [what, error] of Object.entries({
  'does not take our version any more': { code: -32022, message: 'Unsupported protocol version', data: {} },
  'is followed by an older one': { code: -32000, message: 'Bad Request: No valid session ID provided' },
}))
  test(`a server of the 2026 era that ${what} is greeted anew within the call`, async () => {
    const { servers, state } = await connect(() => {
      state.isOld = true;
      return { status: 400, error };
    });
    assert.equal((await run(servers, 'mine', 'hi')).value, 'hi');
    assert.equal((await servers.status())[0]?.protocol, '2025-11-25');
  });

test('a server that asks for input endlessly, too much at once or senselessly fails by name', async () => {
  let result: object = {};
  let asked = 0;
  const { servers } = await connect(() => ({ result }));
  const askClient = async (): Promise<unknown> => (asked++, { action: 'decline' });
  const question = { method: 'elicitation/create', params: { message: 'Well?' } };
  const fails = async (inputRequests: object, message: RegExp): Promise<void> => {
    result = { resultType: 'input_required', inputRequests };
    const call = run(servers, 'mine', 'hi', {}, callAs('me', { askClient }));
    await assert.rejects(call, { code: 'tool.failed', message });
  };
  await fails({ a: question }, /more than 10 times/);
  assert.equal(asked, 10);
  await fails(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, question])), /more than 100 inputs at once/);
  await fails({ a: null }, /without saying which: a/);
  assert.equal(asked, 10);
});

test('a result of a kind that is not known is not handed on as an empty one', async () => {
  const { servers } = await connect(() => ({ result: { resultType: 'later', content: [] } }));
  await assert.rejects(run(servers, 'mine', 'hi'), { code: 'tool.failed', message: /unknown kind: later/ });
});
