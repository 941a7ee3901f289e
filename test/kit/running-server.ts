import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cliFile } from './programs.ts';

export const root = join(import.meta.dirname, '..', '..');
// A plain script without types of its own.
const { nodeFlags: flags, nodeMemory } = (await import(new URL('../../scripts/node.js', import.meta.url).href)) as {
  nodeFlags: string[];
  nodeMemory: Record<string, string>;
};

/** A real server in its own process, on its own home and port. */
export interface TestServer {
  url: string;
  mcpUrl: string;
  signInUrl: string;
  home: string;
  token: string;
  pid: number;
  process: ChildProcess;
  /** All that it printed to standard error. */
  errors(): string;
  /** SIGTERM, and the exit code; the home is removed unless it was given. */
  stop(): Promise<number | null>;
  /** SIGKILL; the home stays. */
  kill(): Promise<void>;
  /** Fetches a path as the admin, or as `token`. */
  fetch(path: string, init?: RequestInit & { token?: string; json?: unknown }): Promise<Response>;
}

export interface TestServerOptions {
  home?: string;
  args?: string[];
  env?: Record<string, string>;
  /** Flags for Node itself. */
  nodeFlags?: string[];
  /** Another program than the one that is built of these sources. */
  program?: string;
  /** Puts the home on a disk of its own, in memory, that has no more room than this and vanishes with the server. */
  homeBytes?: number;
}

/** Starts `oubliette serve` and waits until it says that it is ready; fails with what it printed when it does not. */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), 'oub-')));
  const args = [
    ...flags,
    ...(options.nodeFlags ?? []),
    options.program ?? cliFile,
    'serve',
    '--json',
    '--port',
    '0',
    '--home',
    home,
  ];
  const disk = options.homeBytes === undefined ? [] : diskFor(home, options.homeBytes);
  const [command, ...rest] = [...disk, process.execPath, ...args, ...(options.args ?? [])];
  const child = spawn(command!, rest, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...nodeMemory, ...cleanEnv(options.env) },
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exited = once(child, 'exit');
  const ready = await firstLine(child, () => errors);
  // Only the server itself sees a disk of its own.
  const seen = options.homeBytes === undefined ? home : join('/proc', String(ready.pid), 'root', home);
  const token = (await readFile(join(seen, 'admin.token'), 'utf8')).trim();
  const { url } = ready;
  const pid = options.homeBytes === undefined ? child.pid! : ready.pid;
  return {
    ...ready,
    home: seen,
    token,
    pid,
    process: child,
    errors: () => errors,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) process.kill(pid, 'SIGTERM');
      await exited;
      if (!options.home) await rm(home, { recursive: true, force: true });
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    fetch(path, init = {}) {
      const { json, token: other, ...rest } = init;
      const headers = new Headers(rest.headers);
      headers.set('authorization', `Bearer ${other ?? token}`);
      if (json !== undefined) headers.set('content-type', 'application/json');
      return fetch(url + path, { ...rest, headers, ...(json !== undefined && { body: JSON.stringify(json) }) });
    },
  };
}

function diskFor(folder: string, bytes: number): string[] {
  return ['bwrap', '--dev-bind', '/', '/', '--size', String(bytes), '--tmpfs', folder, '--die-with-parent', '--'];
}

function firstLine(
  child: ChildProcess,
  errors: () => string,
): Promise<{ url: string; mcpUrl: string; signInUrl: string; pid: number }> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout! });
    lines.once('line', (line) => {
      try {
        resolve(JSON.parse(line));
      } catch {
        reject(new Error(`the server said ${line}`));
      }
    });
    child.once('exit', (code, signal) => reject(new Error(`the server ended with ${code ?? signal}: ${errors()}`)));
  });
}

export interface Ran {
  code: number | null;
  out: string;
  err: string;
  /** Standard output as JSON. */
  json: any;
}

/** Runs the real `oubliette` with arguments, environment and standard input, and waits for its end. */
export async function oubliette(
  args: string[],
  options: { env?: Record<string, string>; input?: string; cwd?: string } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [...flags, cliFile, ...args], {
    cwd: options.cwd ?? root,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: cleanEnv(options.env),
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (err += chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(options.input ?? '');
  const [code] = (await once(child, 'close')) as [number | null];
  return {
    code,
    out,
    err,
    get json() {
      return JSON.parse(out);
    },
  };
}

/** `oubliette serve` as a person starts it; `printed` is all that it says until it is ready. */
export async function serveForPeople(home: string): Promise<{ child: ChildProcess; printed: string }> {
  const child = spawn(process.execPath, [cliFile, 'serve', '--port', '0', '--home', home], {
    cwd: root,
    env: cleanEnv(),
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  while (!printed.includes('Ctrl-C')) await once(child.stdout, 'data');
  return { child, printed };
}

/** Our own environment without what would point a program at another server. */
export function cleanEnv(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('OUBLIETTE_') && name !== 'NODE_TEST_CONTEXT'),
  );
  return { ...env, ...extra };
}

/** Ends what a server left running on purpose, because the next one could take it up: its sandboxes. */
export async function endSandboxes(server: Pick<TestServer, 'fetch'>): Promise<void> {
  const call = async (name: string, args: object): Promise<any> =>
    ((await (await server.fetch(`/call/${name}`, { method: 'POST', json: { args } })).json()) as { value?: unknown })
      .value;
  let page_token: string | undefined;
  do {
    const page = await call('session_list', page_token === undefined ? {} : { page_token });
    for (const { id, status } of page.sessions)
      if (!['ended', 'failed', 'timed_out'].includes(status)) await call('session_end', { session_id: id });
    page_token = page.next_page_token;
  } while (page_token !== undefined);
  const { projects } = await call('project_list', {});
  for (const { id } of projects) await call('container_stop', { project_id: id });
}
