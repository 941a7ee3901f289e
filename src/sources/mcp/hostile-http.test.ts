import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { oldServer, type OldServer, type OldServerOptions } from '../../../test/mcp/old-http-server.ts';
import { callAs, closeServers, connected, openAlone, openServers, run } from '../../../test/mcp/upstream-bench.ts';
import { until } from '../../../test/kit/until.ts';
import type { McpServersDeps } from './servers.ts';

const opened: OldServer[] = [];
afterEach(async () => {
  await closeServers();
  for (const each of opened.splice(0)) each.close();
});

async function upstream(options: OldServerOptions): Promise<OldServer> {
  const server = await oldServer(options);
  opened.push(server);
  return server;
}

async function connect(options: OldServerOptions, more: Partial<McpServersDeps> = {}, timeoutMs = 30_000) {
  const old = await upstream(options);
  const { servers } = await openServers({ old: { url: old.url, timeoutMs } }, more);
  await connected(servers);
  return { old, servers };
}

const isCall = (body: string): boolean => body.includes('"tools/call"');

test('an older server that calls a forgotten session a bad request is greeted anew within the call', async () => {
  let known = 's1';
  const { servers, old } = await connect({
    before(incoming, outgoing, body) {
      if (!isCall(body) || incoming.headers['mcp-session-id'] === known) return false;
      const error = { code: -32000, message: 'Bad Request: No valid session ID provided' };
      outgoing.writeHead(400, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
      return true;
    },
  });
  known = 's2';
  assert.equal((await run(servers, 'old', 'hi')).value, 'hi');
  assert.equal(old.seen.filter(({ body }) => body.includes('"initialize"')).length, 2);
});

test('a server that leaves a notification of the greeting unanswered is given up in time', async () => {
  const old = await upstream({ before: (_incoming, _outgoing, body) => body.includes('notifications/initialized') });
  await assert.rejects(openAlone({ url: old.url }, 500), /no connection within 500 ms/);
});

test('requests that want no answer do not stay open when a server leaves them so', async () => {
  const left: ServerResponse[] = [];
  const { servers } = await connect(
    {
      before(_incoming, outgoing, body) {
        if (body.includes('notifications/cancelled')) left.push(outgoing);
        return isCall(body) || body.includes('notifications/cancelled');
      },
    },
    {},
    100,
  );
  await assert.rejects(run(servers, 'old', 'hi'), { code: 'tool.timeout' });
  await until(() => left.length === 1 && left[0]?.destroyed);
});

test('how soon a stream is opened again is not for the server alone to say', async () => {
  let pauseMs = 0;
  const streams: number[] = [];
  const { servers } = await connect(
    {
      before(incoming, outgoing, body) {
        if (incoming.method !== 'GET' && !isCall(body)) return false;
        if (incoming.method === 'GET') streams.push(performance.now());
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
        outgoing.end(`id: 1\nretry: ${pauseMs}\ndata:\n\n`);
        return true;
      },
    },
    {},
    300,
  );
  await until(() => streams.length >= 4);
  const gaps = streams.slice(1).map((at, index) => at - streams[index]!);
  assert.ok(Math.min(...gaps) > 100, gaps.join());
  pauseMs = 100_000_000;
  const calls = [1, 2, 3].map(() => assert.rejects(run(servers, 'old', 'hi'), { code: 'tool.timeout' }));
  await Promise.all(calls);
  await closeServers();
  const timers = process.getActiveResourcesInfo().filter((each) => each === 'Timeout');
  assert.ok(timers.length <= 1, 'only the test itself may still wait');
});

test('a refusal is told with its status, briefly, without a page, and without half a secret', async () => {
  const secret = 'a-secret-of-forty-characters-as-many-are';
  let answer = { status: 500, text: '' };
  const { servers } = await connect(
    {
      before(_incoming, outgoing, body) {
        if (isCall(body)) outgoing.writeHead(answer.status).end(answer.text);
        return isCall(body);
      },
    },
    { redact: <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll(secret, '[secret]')) as T },
  );
  const reason = async (status: number, text: string): Promise<string> => {
    answer = { status, text };
    return run(servers, 'old', 'hi').then(
      () => 'no error',
      (error: Error) => error.message,
    );
  };
  const begin = 'MCP server old could not be reached: it answered';
  assert.equal(await reason(429, 'slow down'), `${begin} 429: slow down`);
  assert.equal(await reason(503, `<html>${'x'.repeat(100_000)}`), `${begin} 503`);
  const cut = await reason(500, 'x'.repeat(463) + secret + 'y'.repeat(200_000));
  assert.ok(cut.length < 600 && cut.includes('xxx') && !cut.includes(secret.slice(0, 8)), cut);
  assert.ok(!servers.byName('old')?.lines.join().includes(secret.slice(0, 8)));
});

test('a call that is refused with Retry-After says when to try again, however long a server wishes for', async () => {
  let refusal: [number, string] | undefined;
  const { servers, old } = await connect({
    before(_incoming, outgoing, body) {
      if (!isCall(body) || !refusal) return false;
      outgoing.writeHead(refusal[0], { 'retry-after': refusal[1] }).end('slow down');
      return true;
    },
  });
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  for (const [status, wish, seconds] of [
    [429, '7', '7'],
    [503, inAMinute, '(59|60)'],
    [429, '31536000', '3600'],
  ] as const) {
    refusal = [status, wish];
    await assert.rejects(run(servers, 'old', 'hi'), {
      code: 'source.busy',
      retryable: true,
      message: new RegExp(`^MCP server old takes no more requests for now\\. Try again in ${seconds} s\\.$`),
    });
  }
  refusal = undefined;
  assert.equal((await run(servers, 'old', 'hi')).value, 'hi', 'the connection still stands');
  assert.equal(old.seen.filter(({ body }) => body.includes('"initialize"')).length, 1);
});

test('a server that wants to be left alone is not greeted again before, unless a person asks for it', async () => {
  let wish: string | undefined = '3';
  const greetings: number[] = [];
  const old = await upstream({
    before(_incoming, outgoing) {
      if (wish === undefined) return false;
      greetings.push(performance.now());
      outgoing.writeHead(503, { 'retry-after': wish }).end();
      return true;
    },
  });
  const { servers } = await openServers({ old: { url: old.url } });
  const upstreamServer = servers.byName('old')!;
  await until(() => upstreamServer.state === 'disconnected');
  // Longer than a server that says nothing is left alone after its first failure.
  await sleep(1500);
  const ask = () => upstreamServer.ask('tools/list', {}, { principal: 'somebody' });
  await assert.rejects(ask(), { code: 'source.busy', message: /Try again in [12] s/ });
  const first = greetings.at(-1)!;
  const asked = greetings.length;
  wish = '31536000';
  await until(() => greetings.length > asked);
  assert.ok(greetings[asked]! - first > 2950, `${greetings[asked]! - first} ms`);
  await until(() => upstreamServer.state === 'disconnected');
  await assert.rejects(ask(), { code: 'source.busy', message: /Try again in (59|60) s/ });
  wish = undefined;
  await upstreamServer.reconnect();
  assert.equal(upstreamServer.state, 'connected');
});

test('an answer that is no message of the protocol is called so', async () => {
  let text = '';
  const { servers } = await connect({
    before(_incoming, outgoing, body) {
      if (isCall(body)) outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text);
      return isCall(body);
    },
  });
  for (text of ['{"hello":1}', '{"jsonrpc": oops', ''])
    await assert.rejects(run(servers, 'old', 'hi'), {
      message: 'MCP server old could not be reached: its answer is no JSON-RPC message',
    });
});

test('pages that together are too large are cut off before they fill the memory', async () => {
  let pages = 0;
  const description = 'x'.repeat(16 * 1024 * 1024);
  const { servers } = await connect({
    before(_incoming, outgoing, body) {
      if (!body.includes('"tools/list"')) return false;
      const { id } = JSON.parse(body) as { id: number };
      const tools = [{ name: `tool ${++pages}`, description, inputSchema: { type: 'object' } }];
      const result = { tools, ...(pages < 20 && { nextCursor: String(pages) }) };
      outgoing
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return true;
    },
  });
  const [status] = await servers.status();
  assert.match(status?.warnings.join('\n') ?? '', /^its list of tools has no end; only the first 4 are taken$/m);
});

test('a server that is away for long is connected anew, and what changed meanwhile is seen', async () => {
  let isAway = false;
  let name = 'hi';
  const streams: ServerResponse[] = [];
  const { servers } = await connect({
    before(incoming, outgoing, body) {
      if (isAway) outgoing.destroy();
      else if (incoming.method === 'GET') {
        // The next stream is tried as soon as it may be.
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1\n\n');
        streams.push(outgoing);
      } else if (body.includes('"tools/list"')) {
        const { id } = JSON.parse(body) as { id: number };
        const result = { tools: [{ name, inputSchema: { type: 'object' } }] };
        const text = JSON.stringify({ jsonrpc: '2.0', id, result });
        outgoing.writeHead(200, { 'content-type': 'application/json' }).end(text);
      } else return false;
      return true;
    },
  });
  await until(() => streams.length === 1);
  isAway = true;
  streams[0]?.destroy();
  await until(async () => (await servers.status())[0]?.status === 'disconnected');
  isAway = false;
  name = 'hello';
  await until(() => servers.bundles()[0]?.tools[0]?.upstreamName === 'hello');
});

test('a server that asks without end is answered, but not without bound', async () => {
  let isAsking = true;
  let answered = 0;
  const { servers } = await connect({
    before(_incoming, outgoing, body) {
      const { id, method } = JSON.parse(body || '{}') as { id?: unknown; method?: string };
      if (typeof id === 'string') answered++;
      if (method !== 'tools/call') return false;
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
      let asked = 0;
      const ask = (): void => {
        for (let i = 0; i < 100; i++) {
          const question = { jsonrpc: '2.0', id: `q${++asked}`, method: 'elicitation/create', params: {} };
          outgoing.write(`data: ${JSON.stringify(question)}\n\n`);
        }
        if (asked < 2_000) return void setImmediate(ask);
        isAsking = false;
      };
      ask();
      return true;
    },
  });
  const stop = new AbortController();
  let most = 0;
  let waiting = 0;
  const askClient = async (): Promise<unknown> => {
    most = Math.max(most, ++waiting);
    await new Promise((resolve) => setTimeout(resolve, 500));
    waiting--;
    return { action: 'decline' };
  };
  const call = run(servers, 'old', 'hi', {}, callAs('me', { askClient, signal: stop.signal }));
  await until(() => !isAsking && answered > 100 && waiting === 0);
  stop.abort();
  await assert.rejects(call, { code: 'tool.cancelled' });
  assert.equal(most, 100);
});
