import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';
import { ToolLives } from './tool-lives.ts';

export const about =
  'a clock that is set a day ahead and a day back, again and again: programs end, limits pass, servers come back, nothing is lost';
export const full = 20;

const comesBackWithinMs = 60_000;
/** Keeps its child busy for about a second. */
const longProgram = 'n = 0\nfor i in range(3000000):\n    n += i\nn';

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { jumps: 0 }, violations: [] };
  const home = await mkdtemp(join(tmpdir(), 'oub-clock-'));
  const upstream = { command: process.execPath, args: [join(root, 'test', 'mcp', 'raw-server.ts')] };
  await writeFile(join(home, 'config.yaml'), JSON.stringify({ servers: { raw: upstream } }));
  const server = await startTestServer({
    home,
    nodeFlags: ['--import', join(root, 'test', 'kit', 'jumping-clock.ts')],
  });
  const lives = new ToolLives(randomUUIDv7(), tally);
  try {
    await lives.makeBundle(server);
    const limited = await limitedTool(server);
    for (let round = 0; round < rounds; round++) {
      await isConnected(server, tally);
      const program = call(server, 'run', { code: longProgram });
      await call(server, 'raw_die', {});
      await sleep(100);
      process.kill(server.pid, 'SIGUSR2');
      tally.counted['jumps']!++;
      await lives.live(server, `t${round}`);
      const { value, error } = await program;
      if (value !== '4499998500000') tally.violations.push(`a program ended with ${value ?? error?.message}`);
      await waitsAMinute(server, limited, tally);
    }
    await isConnected(server, tally);
    await lives.check(server, lives.slugs);
    await lives.checkList(server);
  } finally {
    const code = await server.stop();
    if (code !== 0) tally.violations.push(`the server ended with ${code}`);
    await rm(home, { recursive: true, force: true });
  }
  return tally;
}

interface Said {
  value?: any;
  error?: { code: string; message: string };
}

async function call(server: TestServer, name: string, args: object): Promise<Said> {
  const answer = await server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
  return (await answer.json()) as Said;
}

/** A tool that may be called once in a minute; answers its name. */
async function limitedTool(server: TestServer): Promise<string> {
  const bundle = `/tools/bundles/${randomUUIDv7()}`;
  await server.fetch(bundle, { method: 'PUT', json: { slug: 'clock-limits', displayName: 'Limits', isEnabled: true } });
  await server.fetch(`${bundle}/tools/rare/version/v1`, {
    method: 'PUT',
    json: {
      displayName: 'Rare',
      isEnabled: true,
      type: 'function',
      functionImpl: { func: 'demo.foo' },
      argSchema: { type: 'object' },
      limits: { maxCallsPerMinute: 1 },
    },
  });
  return 'clock_limits_rare';
}

/** Whatever the clock says, nobody waits longer than a minute for a limit. */
async function waitsAMinute(server: TestServer, tool: string, tally: Tally): Promise<void> {
  const { value, error } = await call(server, tool, { text: 'hello' });
  const seconds = Number(/(\d+) s/.exec(error?.message ?? '')?.[1] ?? 0);
  if (value === undefined && (error?.code !== 'rate.limited' || seconds < 1 || seconds > 60))
    tally.violations.push(`a limited tool answered ${error?.message}`);
}

async function isConnected(server: TestServer, tally: Tally): Promise<void> {
  const giveUpAt = performance.now() + comesBackWithinMs;
  for (;;) {
    const { value } = await call(server, 'server_list', {});
    const { status, error } = value.servers[0];
    if (status === 'connected') return;
    if (performance.now() > giveUpAt) {
      tally.violations.push(`the upstream server is ${status}: ${error}`);
      return;
    }
    await sleep(50);
  }
}
