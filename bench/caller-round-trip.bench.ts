import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createParser } from 'eventsource-parser';
import { bundledProgram } from '../src/entry.ts';
import { endSandboxes, startTestServer, type TestServer } from '../test/kit/running-server.ts';
import { startChild } from './child.ts';
import { interleave, median, type Row } from './measure.ts';

export const about = 'agent -> client -> socket -> server -> SSE -> caller -> answer -> agent, against the bare chain';

const rounds = 7;
const calls = 200;

export async function bench(): Promise<Row[]> {
  const server = await startTestServer({ args: ['--log', 'warn'] });
  const folder = await mkdtemp(join(tmpdir(), 'oub-bare-'));
  const bare = await startChild<{ url: string }>('bare-relay.ts', ['server', join(folder, 's')]);
  const closers: (() => void)[] = [];
  try {
    const session = await lendingSession(server, 0);
    const ours = agentSide([await bundledProgram('client'), '--socket', session.socket], closers);
    await ours.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    });
    await ours.ask('tools/list', {});
    await caller(`${server.url}/sessions/${session.id}/events`, server.token, closers, (request_id) =>
      post(`${server.url}/call/caller_tool_response`, server.token, {
        args: { session_id: session.id, request_id, result: 'done' },
      }),
    );
    const theirs = agentSide([join(import.meta.dirname, 'bare-relay.ts'), 'client', join(folder, 's')], closers);
    await caller(`${bare.ready.url}/`, '', closers, (request_id) =>
      post(`${bare.ready.url}/`, 'none', { request_id, result: 'done' }),
    );
    const timed = (ask: () => Promise<unknown>) => async (): Promise<number> => {
      const taken: number[] = [];
      for (let i = 0; i < calls; i++) {
        const started = performance.now();
        await ask();
        taken.push(performance.now() - started);
      }
      return median(taken);
    };
    const both = {
      ours: timed(() => ours.ask('tools/call', { name: 'bench_ask', arguments: { n: 1 } })),
      other: timed(() => theirs.ask('tools/call', { name: 'bench_ask', arguments: { n: 1 } })),
    };
    // Neither side is measured while its code is still being compiled.
    await interleave(2, both);
    const sides = await interleave(rounds, both);
    return [
      {
        what: 'caller round trip, p50',
        unit: 'ms',
        ...sides,
        otherName: 'bare chain',
        goal: { of: 'ratio', atMost: 2 },
      },
      ...(await crowd(server, closers)),
      ...(await discovery(server, session.socket)),
    ];
  } finally {
    for (const close of closers) close();
    await endSandboxes(server);
    await Promise.all([server.stop(), bare.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** A thousand requests over a hundred sessions at once: none may be lost. */
async function crowd(server: TestServer, closers: (() => void)[]): Promise<Row[]> {
  const sessions = [];
  for (let i = 1; i <= 100; i++) sessions.push(await lendingSession(server, i));
  const call = callTool(server);
  let answered = 0;
  await Promise.all(
    sessions.map(async ({ id, socket }) => {
      await caller(`${server.url}/sessions/${id}/events`, server.token, closers, (request_id) =>
        call('caller_tool_response', { session_id: id, request_id, result: 'done' }),
      );
      const relay = jsonLines(connectSocket(socket), closers);
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          const { result } = (await relay.ask('caller_tool', { tool: 'ask', arguments: { n: 1 } })) as {
            result?: unknown;
          };
          if (result === 'done') answered++;
        }),
      );
    }),
  );
  return [
    {
      what: '1,000 requests over 100 sessions, answered',
      unit: 'calls',
      ours: [answered],
      goal: { of: 'value', atLeast: 1000 },
    },
  ];
}

/** Discovery against an echo of as many bytes over a socket. */
async function discovery(server: TestServer, socket: string): Promise<Row[]> {
  const closers: (() => void)[] = [];
  const relay = jsonLines(connectSocket(socket), closers);
  const bytes = JSON.stringify(await relay.ask('oubliette_tools', { api_key: server.token })).length;
  const folder = await mkdtemp(join(tmpdir(), 'oub-echo-'));
  const echo = await startChild<object>('echo-socket.ts', [join(folder, 's'), String(bytes)]);
  const plain = jsonLines(connectSocket(join(folder, 's')), closers);
  const timed = (side: { ask(method: string, params: object): Promise<unknown> }) => async (): Promise<number> => {
    const started = performance.now();
    for (let i = 0; i < 100; i++) await side.ask('oubliette_tools', { api_key: server.token });
    return (performance.now() - started) / 100;
  };
  const { ours, other } = await interleave(rounds, { ours: timed(relay), other: timed(plain) });
  for (const close of closers) close();
  await echo.stop();
  await rm(folder, { recursive: true, force: true });
  return [
    {
      what: 'discovery of all tools, less 5 ms',
      unit: 'ms',
      ours: ours.map((ms) => Math.max(0, ms - 5)),
      other,
      otherName: 'bare echo',
      goal: { of: 'ratio', atMost: 2 },
    },
  ];
}

const callTool =
  (server: TestServer) =>
  async (name: string, args: object): Promise<any> => {
    const response = await server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
    const answer = (await response.json()) as { ok?: boolean; value?: unknown };
    if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(answer)}`);
    return answer.value;
  };

/** The caller's answer, the same way to both sides. */
async function post(url: string, token: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  await response.text();
}

/** A session of a project of its own with one lent tool, its first turn over. */
async function lendingSession(server: TestServer, number: number): Promise<{ id: string; socket: string }> {
  const call = callTool(server);
  const project = await call('project_create', { name: `bench-${number}` });
  const context = { caller_id: 'bench', caller_tools: [{ name: 'ask' }] };
  const { session_id } = await call('session_spawn', { project_id: project.id, message: '1', context });
  for (;;) {
    const session = await call('session_get', { session_id });
    if (session.status === 'idle') return { id: session_id, socket: session.relay_socket };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A program that speaks JSON-RPC lines on stdio. */
function agentSide(args: string[], closers: (() => void)[]) {
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  closers.push(() => child.kill());
  return rpc(child.stdout, (line) => child.stdin.write(line));
}

function jsonLines(socket: ReturnType<typeof connectSocket>, closers: (() => void)[]) {
  closers.push(() => socket.destroy());
  return rpc(socket, (line) => socket.write(line));
}

function rpc(input: NodeJS.ReadableStream, write: (line: string) => void) {
  const waiting = new Map<number, (message: unknown) => void>();
  let count = 0;
  createInterface({ input }).on('line', (line) => {
    const message = JSON.parse(line) as { id?: number };
    waiting.get(message.id ?? -1)?.(message);
  });
  return {
    ask: (method: string, params: object): Promise<unknown> =>
      new Promise((resolve) => {
        const id = ++count;
        waiting.set(id, resolve);
        write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
      }),
  };
}

/** Follows a stream and answers each request. */
async function caller(
  url: string,
  token: string,
  closers: (() => void)[],
  answer: (requestId: string) => Promise<unknown>,
): Promise<void> {
  const stop = new AbortController();
  closers.push(() => stop.abort());
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal: stop.signal,
  });
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === 'caller_tool_request') void answer((JSON.parse(data) as { request_id: string }).request_id);
    },
  });
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body!) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  })().catch(() => {});
}
