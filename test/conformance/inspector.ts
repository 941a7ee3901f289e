// The inspector's command line as a client of ours: over HTTP and over stdio, it lists `run` and calls it.
import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';
import { join } from 'node:path';
import { peer } from '../../bench/peers.ts';
import { root, type TestServer } from '../kit/running-server.ts';

const version = '2.12.0';

/** Answers what went wrong; nothing when all is well. */
export async function inspect(server: TestServer): Promise<string[]> {
  const program = join(peer('@modelcontextprotocol/inspector', version), 'clients', 'launcher', 'build', 'index.js');
  const http = [server.mcpUrl, '--transport', 'http', '--header', `Authorization: Bearer ${server.token}`];
  const stdio = [process.execPath, join(root, 'bin', 'oubliette.js'), 'mcp', '--home', server.home];
  const call = ['--method', 'tools/call', '--tool-name', 'run', '--tool-arg', 'code=20+22'];
  const problems: string[] = [];
  const expect = async (what: string, args: string[], wanted: RegExp): Promise<void> => {
    const child = spawn(process.execPath, [program, '--cli', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: server.home },
    });
    const [out, err] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
    if (!wanted.test(out)) problems.push(`${what}: ${(out + err).slice(0, 400)}`);
  };
  await expect('tools/list over HTTP', [...http, '--method', 'tools/list'], /"name": ?"run"/);
  await expect('tools/call over HTTP', [...http, ...call], /"text": ?"42"/);
  await expect('tools/list over stdio', [...stdio, '--method', 'tools/list'], /"name": ?"run"/);
  return problems;
}
