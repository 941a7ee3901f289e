import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { load } from './load.ts';
import { endGroup, freePort, openSession, startOn } from './mcp-peer.ts';
import { interleave, median, type Row } from './measure.ts';
import { peer } from './peers.ts';

export const about = 'programs over MCP against an MCP echo of ours, against single calls, and against executor';

const revision = '2026-07-28';
const executorVersion = '1.5.9';
/** Before anything is measured: on either side as many as it takes until its code is compiled. */
const warmUp = 4000;
/** Many short ones: the machine may change its speed several times a second, and that must hit both sides alike. */
const rounds = 31;
const accept = 'application/json, text/event-stream';
const tenCalls = Array.from({ length: 10 }, (_, i) => `a${i} = demo.foo(text="${i}")`).join('\n') + '\na9';
const tenAtOnce = 'parallel([("demo.foo", {"text": str(i)}) for i in range(10)])';
const filter =
  'rows = [{"id": i, "score": i * 7 % 100} for i in range(1000)]\n[r["id"] for r in rows if r["score"] > 90]';

/** The same work in the other's language. */
const theirs = {
  sum: 'return 1 + 1',
  calls:
    'let last; for (let i = 0; i < 10; i++) last = await tools.executor.coreTools.connections.list({}); return last.ok',
  filter:
    'const rows = Array.from({ length: 1000 }, (_, i) => ({ id: i, score: (i * 7) % 100 })); return rows.filter((r) => r.score > 90).map((r) => r.id)',
};

export async function bench(): Promise<Row[]> {
  const server = await startTestServer({ args: ['--log', 'warn'] });
  let executor: Awaited<ReturnType<typeof startExecutor>> | undefined;
  try {
    const echo = (inFlight: number, requests: number) => () =>
      perCall(server, '/mcp/b/demo', 'foo', { text: 'hello' }, inFlight, requests);
    const run = (code: string, inFlight: number, requests: number) => () =>
      perCall(server, '/mcp/run', 'run', { code }, inFlight, requests);
    for (const warm of [
      echo(1, warmUp),
      run('1+1', 1, warmUp),
      run(tenCalls, 1, warmUp),
      run(tenAtOnce, 1, warmUp),
      run(filter, 1, 100),
      run('1+1', 8, warmUp),
      echo(8, warmUp),
    ])
      await warm();
    const one = await interleave(rounds, { ours: run('1+1', 1, 150), other: echo(1, 250) });
    const eight = await interleave(rounds, { ours: run('1+1', 8, 400), other: echo(8, 800) });
    const ten = await interleave(rounds, {
      ours: async () => 1 / (await run(tenAtOnce, 1, 100)()),
      inTurn: async () => 1 / (await run(tenCalls, 1, 100)()),
      other: async () => 1 / (10 * (await echo(1, 250)())),
    });
    const [calls, programs] = [await sdkClient(server, '/mcp/b/demo'), await sdkClient(server, '/mcp/run')];
    const tenBySdk = await interleave(rounds, {
      ours: async () => 1 / (await programs('run', { code: tenCalls }, 30)),
      other: async () => 1 / (10 * (await calls('foo', { text: 'hello' }, 60))),
    });
    const rows: Row[] = [
      { what: '1+1 against an echo', unit: 'ms', ...one, otherName: 'our MCP echo', goal: { of: 'ratio', atMost: 2 } },
      {
        what: '1+1 against an echo, 8 in flight',
        unit: 'ms',
        ...eight,
        otherName: 'our MCP echo',
        goal: { of: 'ratio', atMost: 2.5 },
      },
      {
        what: '10 calls in a program, by parallel',
        unit: 'programs/ms',
        ours: ten.ours,
        other: ten.other,
        otherName: '10 MCP calls',
        goal: { of: 'ratio', atLeast: 4 },
      },
      {
        what: '10 calls in a program, one after the other',
        unit: 'programs/ms',
        ours: ten.inTurn,
        other: ten.other,
        otherName: '10 MCP calls',
        goal: { of: 'ratio', atLeast: 4 },
      },
      {
        what: '10 calls in a program, by the official client',
        unit: 'programs/ms',
        ...tenBySdk,
        otherName: '10 MCP calls by it',
        goal: { of: 'ratio', atLeast: 4 },
      },
    ];
    // Only now: whatever else runs on the machine changes what waking up costs, and so the comparisons with ourselves.
    const started = (executor = await startExecutor());
    for (const code of Object.values(theirs)) await started.run(code, 60);
    for (const [what, mine, other] of [
      ['1+1', '1+1', theirs.sum],
      ['10 calls', tenCalls, theirs.calls],
      ['filter of 1,000 rows', filter, theirs.filter],
    ] as const) {
      const taken = await interleave(5, {
        ours: async () => 1000 / (await run(mine, 1, 150)()),
        other: async () => 1000 / (await started.run(other, 15)),
      });
      rows.push({
        what: `${what} against executor`,
        unit: 'programs/s',
        ...taken,
        otherName: `executor ${executorVersion}`,
        goal: { of: 'ratio', atLeast: 25 },
      });
    }
    return rows;
  } finally {
    await Promise.all([server.stop(), executor?.stop()]);
  }
}

/** Median milliseconds of a call. */
async function perCall(
  server: TestServer,
  path: string,
  name: string,
  args: object,
  inFlight: number,
  requests: number,
): Promise<number> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const { p50 } = await load({
    url: server.url,
    path,
    headers: {
      authorization: `Bearer ${server.token}`,
      accept,
      'mcp-protocol-version': revision,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args, _meta: meta } },
    inFlight,
    requests,
    check,
  });
  return p50;
}

/** What a program sees that talks to us by the official client: median milliseconds of a call, one after the other. */
async function sdkClient(
  server: TestServer,
  path: string,
): Promise<(name: string, args: Record<string, unknown>, times: number) => Promise<number>> {
  const client = new Client({ name: 'bench', version: '1' });
  const headers = { authorization: `Bearer ${server.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url + path), { requestInit: { headers } }));
  return async (name, args, times) => {
    const taken: number[] = [];
    for (let i = 0; i < times; i++) {
      const sentAt = performance.now();
      const { isError } = await client.callTool({ name, arguments: args });
      taken.push(performance.now() - sentAt);
      if (isError) throw new Error(`${name} failed`);
    }
    return median(taken);
  };
}

/** The other code mode, at the same kind of door: MCP over streamable HTTP. */
async function startExecutor(): Promise<{ run(code: string, times: number): Promise<number>; stop(): Promise<void> }> {
  const home = await mkdtemp(join(tmpdir(), 'oub-executor-'));
  const port = await freePort();
  const program = join(peer('executor', executorVersion), 'bin', 'executor');
  const env = { PATH: process.env['PATH'], HOME: home };
  const child = await startOn(port, program, ['web', '--port', String(port)], { cwd: home, env });
  const execute = (code: string): object => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'execute', arguments: { code } },
  });
  const url = `http://127.0.0.1:${port}`;
  const opened = await openSession(url, '/mcp', { accept }, execute(theirs.sum), '"2"');
  return {
    run: async (code, times) =>
      (await load({ ...opened, body: execute(code), inFlight: 1, requests: times, check })).p50,
    async stop() {
      await endGroup(child);
      await rm(home, { recursive: true, force: true });
    },
  };
}

function check(body: string, status: number): void {
  if (status !== 200 || body.includes('"isError":true') || body.includes('"error":'))
    throw new Error(body.slice(0, 500));
}
