import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bubblewrapDriver, engineDriver, type SandboxDriver, type SandboxSpec } from '../../src/sandbox/index.ts';
import { canRun, startEngine, watchOver, type TestEngine } from './engines.ts';

/** A driver on an engine of the test's own, with folders of its own. */
export interface TestDriver {
  driver: SandboxDriver;
  engine?: TestEngine;
  /** A new place for one sandbox: its folders, and limits that are small enough to be hit. */
  spec(over?: Partial<SandboxSpec>): Promise<SandboxSpec>;
  close(): Promise<void>;
}

export type TestDriverName = 'docker' | 'podman' | 'bubblewrap';

/** The drivers that this machine can run. */
export async function testDrivers(): Promise<TestDriverName[]> {
  const names: TestDriverName[] = process.platform === 'linux' ? ['bubblewrap'] : [];
  for (const name of ['docker', 'podman'] as const) if (await canRun(name)) names.push(name);
  return names;
}

let count = 0;

export async function openTestDriver(name: TestDriverName): Promise<TestDriver> {
  // Short: the path of a socket in it must fit into 108 bytes.
  const root = await mkdtemp(join(tmpdir(), 'oubsb-'));
  const janitor = watchOver(root);
  const engine = name === 'bubblewrap' ? undefined : await startEngine(name);
  const driver = engine
    ? engineDriver({ name: engine.name, sockets: [engine.socket], folder: join(root, 'run'), diskPauseMs: 300 })
    : bubblewrapDriver({ folder: join(root, 'run'), diskPauseMs: 300 });
  const started: string[] = [];
  return {
    driver,
    ...(engine ? { engine } : {}),
    async spec(over = {}) {
      const id = `box_t${process.pid}_${++count}`;
      started.push(id);
      const place = join(root, String(count));
      const folders = { workspace: join(place, 'w'), mcp: join(place, 'm'), spool: join(place, 's') };
      for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
      return {
        id,
        labels: { test: id },
        ...folders,
        env: {},
        limits: { memoryMb: 512, pids: 64, cpus: 2 },
        level: 'basic',
        ...over,
      };
    },
    async close() {
      for (const id of started) await driver.remove(id).catch(() => {});
      await driver.close();
      await engine?.stop();
      await janitor.clean();
    },
  };
}
