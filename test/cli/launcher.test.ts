import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cliFile } from '../kit/programs.ts';
import { cleanEnv, oubliette, startTestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

const scratch = await mkdtemp(join(tmpdir(), 'oub-launcher-'));
const place = join(scratch, 'place');
const launcher = join(place, 'scripts', 'start.js');
const onlyLinux = { skip: process.platform !== 'linux' };
let homes = 0;
const started = new Set<number>();

before(async () => {
  // What `npm start` runs, without its installing and building.
  const runChild = new URL('../../scripts/run-child.js', import.meta.url).href;
  const args = JSON.stringify([cliFile, 'serve', '--json']);
  await mkdir(join(place, 'scripts'), { recursive: true });
  await writeFile(
    launcher,
    `import { runInForeground } from ${JSON.stringify(runChild)};
     process.exitCode = await runInForeground(${JSON.stringify(process.execPath)}, [...${args}, ...process.argv.slice(2)]);`,
  );
  const scripts = { start: 'node scripts/start.js', behind: 'node scripts/start.js --port 0 &' };
  await writeFile(join(place, 'package.json'), JSON.stringify({ name: 'place', type: 'module', scripts }));
});
afterEach(() => {
  for (const pid of started) signal(pid, 'SIGKILL');
  started.clear();
});
after(() => rm(scratch, { recursive: true, force: true }));

interface Launched {
  home: string;
  port: number;
  server: number;
  launcher: number;
  /** Parents of the launcher, up to the process that the test started. */
  above: number[];
  process: ChildProcess;
}

/** Starts a server by way of the launcher, and answers who is who. */
async function launch(command: string, args: string[], env: Record<string, string> = {}): Promise<Launched> {
  const home = join(scratch, `home-${++homes}`);
  const child = spawn(command, args, {
    cwd: place,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: cleanEnv({ OUBLIETTE_HOME: home, OUBLIETTE_PORT: '0', ...env }),
  });
  started.add(child.pid!);
  let server: { pid: number; url: string } | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue;
    server = JSON.parse(line);
    break;
  }
  assert.ok(server, 'the server did not start');
  const chain = [server.pid];
  while (chain.at(-1) !== child.pid && chain.at(-1)! > 1) chain.push(await parentOf(chain.at(-1)!));
  for (const pid of chain) if (pid > 1) started.add(pid);
  const { port } = new URL(server.url);
  return { home, port: Number(port), server: chain[0]!, launcher: chain[1]!, above: chain.slice(2), process: child };
}

async function parentOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

async function isGone(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat === '' || /\) Z /.test(stat);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is over already.
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve((socket.destroy(), false)));
    socket.on('error', () => resolve(true));
  });

const isHealthy = async (port: number): Promise<boolean> => (await fetch(`http://127.0.0.1:${port}/health`)).ok;

test(
  'a launcher that is killed takes its server with it, and home and port are free for the next',
  onlyLinux,
  async () => {
    const first = await launch(process.execPath, [launcher]);
    signal(first.launcher, 'SIGKILL');
    await until(() => isFree(first.port));
    const second = await startTestServer({ home: first.home, args: ['--port', String(first.port)] });
    assert.equal(new URL(second.url).port, String(first.port));
    await until(() => isGone(first.server));
    assert.equal((await oubliette(['call', 'demo_foo', '{"text":"x"}', '--home', first.home])).code, 0);
    assert.equal(await second.stop(), 0);
    const spans = (await readFile(join(first.home, 'logs', 'server.log'), 'utf8')).matchAll(/"span":"server\.(\w+)"/g);
    assert.deepEqual(
      [...spans].map(([, span]) => span).sort(),
      ['start', 'start', 'stop', 'stop'],
      'both ended cleanly',
    );
  },
);

test('a launcher that is killed while the server starts leaves none behind', onlyLinux, async () => {
  const home = join(scratch, 'early');
  const child = spawn(process.execPath, [launcher, '--port', '0'], {
    stdio: 'ignore',
    env: cleanEnv({ OUBLIETTE_HOME: home }),
  });
  const children = async (): Promise<number[]> =>
    (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')).split(' ').filter(Boolean).map(Number);
  await until(async () => (await children()).length > 0);
  const [server] = await children();
  started.add(server!);
  child.kill('SIGKILL');
  await until(() => isGone(server!));
});

for (const [name, who] of [
  ['SIGKILL', 'npm'],
  ['SIGTERM', 'npm'],
  ['SIGKILL', 'its shell'],
] as const)
  test(`${name} for ${who} ends the server that npm start serves`, onlyLinux, async () => {
    const { above, port, server, launcher: ours } = await launch('npm', ['start']);
    signal(who === 'npm' ? above.at(-1)! : above[0]!, name);
    await until(() => isFree(port));
    for (const pid of [server, ours]) await until(() => isGone(pid));
  });

test('what npm starts in the background outlives npm', onlyLinux, async () => {
  const { port, launcher: ours, process: npm } = await launch('npm', ['run', 'behind']);
  if (npm.exitCode === null) await once(npm, 'exit');
  await sleep(500);
  assert.ok(await isHealthy(port));
  signal(ours, 'SIGTERM');
  await until(() => isGone(ours));
});

test('a server without a terminal serves on when one hangs up, also when npm does not', onlyLinux, async () => {
  const { above, server, launcher: ours, port } = await launch('npm', ['start']);
  for (const pid of [...above, ours, server]) signal(pid, 'SIGHUP');
  await until(() => isGone(above.at(-1)!));
  await sleep(500);
  assert.ok(await isHealthy(port));
  signal(ours, 'SIGTERM');
  await until(() => isGone(server));
});

test('a signal that comes while the server starts is a clean end', onlyLinux, async () => {
  const child = spawn(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent("import { watch } from 'node:fs'; import { dirname } from 'node:path'; const home = process.env.OUBLIETTE_HOME; const w = watch(dirname(home), (_, name) => name === 'slow' && (w.close(), process.kill(process.pid, 'SIGTERM')));")}`,
      cliFile,
      'serve',
      '--port',
      '0',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: cleanEnv({ OUBLIETTE_HOME: join(scratch, 'slow') }) },
  );
  started.add(child.pid!);
  let out = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.equal(out, '');
});
