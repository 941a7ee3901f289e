import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** An MCP endpoint in an initialised session, and a call to send to it. */
export interface Endpoint {
  url: string;
  path: string;
  headers: Record<string, string>;
  body: object;
}

/** A port that nobody listens on, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  return port;
}

/** Starts a program in a process group of its own and waits until it listens. */
export async function startOn(
  port: number,
  command: string,
  args: string[],
  { cwd, env }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: 'ignore', detached: true, cwd, env });
  for (let i = 0; i < 200; i++) {
    const probe = connect(port, '127.0.0.1');
    const isUp = await once(probe, 'connect').then(
      () => true,
      () => false,
    );
    probe.destroy();
    if (isUp) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return child;
}

/** Ends a program and all that it started. */
export async function endGroup(child: ChildProcess): Promise<void> {
  if (!child.pid || child.exitCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

/** Opens a session, so that every side does the same, and answers it as soon as the call gets `expected`. */
export async function openSession(
  url: string,
  path: string,
  headers: Record<string, string>,
  call: object,
  expected: string,
): Promise<Endpoint> {
  const send = (body: object, more: Record<string, string> = {}) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...more },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5000),
    });
  const hello = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
  };
  for (let i = 0; ; i++) {
    const answer = await send(hello).catch(() => undefined);
    const session = answer?.headers.get('mcp-session-id');
    const text = await answer?.text();
    if (answer?.ok && session) {
      const known = { 'mcp-session-id': session };
      await (await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, known)).text();
      const first = await (await send(call, known)).text();
      if (first.includes(expected)) return { url, path, headers: { ...headers, ...known }, body: call };
    }
    if (i > 100) throw new Error(`${url} does not answer: ${answer?.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
