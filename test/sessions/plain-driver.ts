// A sandbox driver without a sandbox: the real supervisor as a plain child, for tests of what happens around it.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../src/schema/index.ts';
import type { Probe, Sandbox, SandboxDriver, SandboxSpec } from '../../src/sandbox/index.ts';

const supervisor = join(import.meta.dirname, '../../src/supervisor.ts');

export interface PlainDriver extends SandboxDriver {
  /** Kills a sandbox as an out-of-memory killer would; resolves when it is gone. */
  kill(id: string): Promise<void>;
  /** The next sandbox of a session; what the pool does meanwhile goes on. */
  failNextStart(error: Error): void;
  running(): string[];
  /** Holds back every sandbox that is started from now on, until the answer is called. */
  holdStarts(): () => void;
  /** From now on nobody answers, as when an engine was stopped; its sandboxes are gone with it. */
  vanish(): void;
}

export function plainDriver(): PlainDriver {
  const boxes = new Map<
    string,
    { spec: SandboxSpec; child: ChildProcess; over: Promise<number | null>; isOver: boolean }
  >();
  let failure: Error | undefined;
  let held: Promise<void> | undefined;
  let isGone = false;
  const demandThere = (): void => {
    if (isGone) throw fail('sandbox.unavailable', { reason: 'no engine answers' });
  };
  const view = (id: string): Sandbox | undefined => {
    const box = boxes.get(id);
    return (
      box && {
        id,
        driver: 'bubblewrap',
        labels: box.spec.labels,
        status: box.isOver ? 'exited' : 'running',
        startedAt: '',
        level: 'basic',
        missing: [],
      }
    );
  };
  const kill = (id: string): void => {
    const pid = boxes.get(id)?.child.pid;
    if (pid)
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        /* gone already */
      }
  };
  const probe: Probe = { driver: 'bubblewrap', available: true, notes: [], level: 'basic', missing: ['everything'] };
  return {
    name: 'bubblewrap',
    async kill(id) {
      kill(id);
      await boxes.get(id)?.over;
    },
    failNextStart: (error) => void (failure = error),
    running: () => [...boxes].filter(([, box]) => !box.isOver).map(([id]) => id),
    holdStarts() {
      const gate = Promise.withResolvers<void>();
      held = gate.promise;
      return gate.resolve;
    },
    vanish() {
      isGone = true;
      for (const id of boxes.keys()) kill(id);
    },
    probe: async () => probe,
    async start(spec) {
      await held;
      demandThere();
      const error = spec.labels['kind'] === 'session' ? failure : undefined;
      if (error) {
        failure = undefined;
        throw error;
      }
      mkdirSync(join(spec.spool, 'home'), { recursive: true });
      const child = spawn(process.execPath, [supervisor], {
        detached: true,
        stdio: 'ignore',
        env: {
          PATH: process.env['PATH'],
          OUBLIETTE_MCP: spec.mcp,
          OUBLIETTE_SPOOL: spec.spool,
          HOME: join(spec.spool, 'home'),
          OUBLIETTE_SESSION: spec.labels['place'],
        },
      });
      const box = {
        spec,
        child,
        isOver: false,
        over: new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code))),
      };
      void box.over.then(() => (box.isOver = true));
      boxes.set(spec.id, box);
      return view(spec.id)!;
    },
    async stop(id) {
      boxes.get(id)?.child.kill('SIGTERM');
      await boxes.get(id)?.over;
    },
    async remove(id) {
      demandThere();
      kill(id);
      await boxes.get(id)?.over;
      boxes.delete(id);
    },
    get: async (id) => view(id),
    list: async (labels = {}) =>
      [...boxes.keys()]
        .map((id) => view(id)!)
        .filter((box) => Object.entries(labels).every(([key, value]) => box.labels[key] === value)),
    async wait(id, signal) {
      const code = await Promise.race([
        boxes.get(id)?.over ?? Promise.resolve(null),
        new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
      ]);
      return { exitCode: code };
    },
    exec: async () => ({ exit_code: 0, stdout: 'plain', stderr: '', timed_out: false, truncated: false }),
    logs: async () => '',
    buildBase: async () => ({ image: 'plain', duration_ms: 1 }),
    buildImage: async () => ({ image: 'plain', duration_ms: 1 }),
    hasImage: async () => true,
    async close() {
      for (const [id, box] of boxes) {
        kill(id);
        await box.over;
        rmSync(box.spec.spool, { recursive: true, force: true });
      }
    },
  };
}
