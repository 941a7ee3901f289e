import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { engineClient } from '../../src/sandbox/engine/engine-client.ts';

/** A container engine of a test's own: its own socket, its own data, gone afterwards. */
export interface TestEngine {
  name: 'docker' | 'podman';
  socket: string;
  /** Ends the engine and starts it again on the same data; its containers go on. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** True when this machine can run the engine; journeys on real engines need root and the Debian packages. */
export async function canRun(name: 'docker' | 'podman'): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return access(name === 'docker' ? '/usr/sbin/dockerd' : '/usr/bin/podman').then(
    () => true,
    () => false,
  );
}

export async function startEngine(name: 'docker' | 'podman'): Promise<TestEngine> {
  const root = await mkdtemp(join(tmpdir(), `oub-${name}-`));
  const socket = join(root, 'engine.sock');
  const command = name === 'docker' ? await dockerCommand(root, socket) : await podmanCommand(root, socket);
  const janitor = watchOver(root);
  let child = await launch(command, root, socket);
  return {
    name,
    socket,
    async restart() {
      await end(child);
      child = await launch(command, root, socket);
    },
    async stop() {
      await removeAll(socket);
      await end(child);
      await janitor.clean();
    },
  };
}

/** Cleans up after this process, however it ends: a killed test must leave no engine, container or mount behind. */
export function watchOver(root: string): { clean(): Promise<void> } {
  const program = new URL('./janitor.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, root], { stdio: ['pipe', 'ignore', 'inherit'], detached: true });
  child.unref();
  const exit = once(child, 'exit');
  return {
    async clean() {
      child.ref();
      child.stdin.end();
      await exit;
    },
  };
}

async function dockerCommand(root: string, socket: string): Promise<string[]> {
  return [
    '/usr/sbin/dockerd',
    '-H',
    `unix://${socket}`,
    '--data-root',
    join(root, 'data'),
    '--exec-root',
    join(root, 'exec'),
    '--pidfile',
    join(root, 'pid'),
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
    '--ip-masq=false',
    '--log-level=error',
    '--live-restore',
  ];
}

async function podmanCommand(root: string, socket: string): Promise<string[]> {
  await mkdir(join(root, 'etc'), { recursive: true });
  const places = ['--root', join(root, 'data'), '--runroot', join(root, 'run'), '--tmpdir', join(root, 'tmp')];
  const choices = [
    '--runtime',
    'runc',
    '--cgroup-manager',
    'cgroupfs',
    '--events-backend',
    'file',
    '--network-config-dir',
    join(root, 'etc'),
  ];
  return ['/usr/bin/podman', ...places, ...choices, 'system', 'service', '--time=0', `unix://${socket}`];
}

async function launch(command: string[], root: string, socket: string): Promise<ChildProcess> {
  await rm(socket, { force: true });
  // podman's watcher leaves a note in its working folder when memory runs out.
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], cwd: root });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
  const client = engineClient(socket);
  const deadline = Date.now() + 30_000;
  for (;;) {
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`${command[0]} in ${root} does not start: ${said}`);
    const isUp = await client.version().then(
      () => true,
      () => false,
    );
    if (isUp) break;
    await pause(50);
  }
  client.close();
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await exit;
  clearTimeout(timer);
}

async function removeAll(socket: string): Promise<void> {
  const client = engineClient(socket);
  try {
    const rows = (await client.ask('/containers/json', { query: { all: 'true' } })).json() as { Id: string }[];
    for (const { Id } of rows)
      await client.ask(`/containers/${Id}`, {
        method: 'DELETE',
        query: { force: 'true', v: 'true' },
        allow: [404, 409],
      });
  } catch {
    // The engine is gone; what it left is unmounted below.
  } finally {
    client.close();
  }
}
