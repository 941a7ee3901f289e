import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ServerInfo } from '../../schema/index.ts';
import { CommandFailure } from './failure.ts';

export interface ServerAddress {
  url: string;
  token: string;
  /** Shows that we can read the server's home: what runs commands on a machine is changed from that machine. */
  proof?: string;
}

export function homeFolder(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  // An empty value would be the current folder, which nobody means.
  return resolve(flag || env['OUBLIETTE_HOME'] || join(homedir(), '.oubliette'));
}

/** The server named by OUBLIETTE_URL, or the one that runs on this home; fails with what to do when there is none. */
export async function findServer(home: string, env: NodeJS.ProcessEnv): Promise<ServerAddress> {
  const url = env['OUBLIETTE_URL'];
  const token = env['OUBLIETTE_TOKEN'];
  if (token && !/^[\x21-\x7e]+$/.test(token))
    throw new CommandFailure(
      'auth.invalid',
      'OUBLIETTE_TOKEN is no token: it holds spaces or other characters that no token has.',
    );
  if (url) {
    if (!token) throw new CommandFailure('auth.required', 'OUBLIETTE_URL is set, OUBLIETTE_TOKEN is not. Set both.');
    if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new CommandFailure(
        'request.invalid',
        `OUBLIETTE_URL is not a web address: ${url}. Write it as http://127.0.0.1:4777`,
      );
    return { url: url.replace(/\/+$/, ''), token };
  }
  const info = await runningServer(home);
  if (!info) throw (await closedHome(home)) ?? noServer(home);
  const proof = await readFile(join(home, 'run', 'cli.proof'), 'utf8').catch(() => undefined);
  return { url: info.url.replace(/\/+$/, ''), token: token ?? (await adminToken(home)), proof };
}

/** What server.json says, or undefined when there is none or its process is gone. */
export async function runningServer(home: string): Promise<ServerInfo | undefined> {
  try {
    const info = JSON.parse(await readFile(join(home, 'server.json'), 'utf8')) as ServerInfo;
    return typeof info.url === 'string' && isAlive(info.pid) ? info : undefined;
  } catch {
    return undefined;
  }
}

/** Whoever may not look into a home cannot know whether a server runs there. */
async function closedHome(home: string): Promise<CommandFailure | undefined> {
  const { code } = await stat(join(home, 'server.json')).then(
    () => ({ code: '' }),
    (error: NodeJS.ErrnoException) => error,
  );
  if (code !== 'EACCES' && code !== 'EPERM') return undefined;
  return new CommandFailure(
    'home.unusable',
    `You may not read ${home} (${code}). Be the user that its server runs as, or name a server by OUBLIETTE_URL and OUBLIETTE_TOKEN.`,
  );
}

export function noServer(home: string, url?: string): CommandFailure {
  if (url)
    return new CommandFailure(
      'server.not_running',
      `No server answers at ${url}. Check OUBLIETTE_URL, or unset it to use the server on this machine.`,
    );
  return new CommandFailure(
    'server.not_running',
    `No server is running on ${home}. Start one with: oubliette serve\nOr name another one by OUBLIETTE_HOME, or by OUBLIETTE_URL and OUBLIETTE_TOKEN.`,
  );
}

async function adminToken(home: string): Promise<string> {
  const file = join(home, 'admin.token');
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new CommandFailure(
      'auth.required',
      `The admin token ${file} cannot be read (${(error as NodeJS.ErrnoException).code}). Set OUBLIETTE_TOKEN to a token of yours.`,
    );
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
