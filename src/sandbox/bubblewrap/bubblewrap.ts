import { setTimeout as pause } from 'node:timers/promises';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../../schema/index.ts';
import { baseFolder, planBase, type BasePlan } from '../base/index.ts';
import { sweepBases } from '../base/base-folder.ts';
import { defaultDiskMb } from '../defaults.ts';
import { diskGuard } from '../disk-guard.ts';
import type { Probe, Sandbox, SandboxDriver, SandboxSpec } from '../driver.ts';
import { execChannels } from '../exec-channel.ts';
import { tailOf } from '../log-tail.ts';
import { prepareFolders } from '../sandbox-user.ts';
import {
  boxFolder,
  boxIds,
  exitCodeOf,
  markedWith,
  processStart,
  readBox,
  removeBoxFolder,
  writeBox,
  type BoxFile,
} from './box-files.ts';
import { killedForMemory, removeGroups } from './cgroups.ts';
import { bwrapImages } from './images.ts';
import { probeBubblewrap, type Abilities } from './probe.ts';
import { launch } from './launch.ts';

const maxLogBytes = 4 * 1024 * 1024;

export interface BubblewrapOptions {
  /** Folder for what is kept of sandboxes and for the base file system; private to us. */
  folder: string;
  /** Shortest time between two looks at how much a sandbox has written. */
  diskPauseMs?: number;
}

/** Sandboxes without an engine: Linux namespaces through bubblewrap, on a root file system of our own. */
export function bubblewrapDriver(options: BubblewrapOptions): SandboxDriver {
  const { folder } = options;
  const boxes = join(folder, 'boxes');
  const bases = join(folder, 'base');
  const images = bwrapImages(join(folder, 'images'));
  const channels = execChannels();
  const closing = new AbortController();
  const guard = diskGuard(options.diskPauseMs);
  let abilities: Promise<Abilities> | undefined;
  let plan: Promise<BasePlan> | undefined;
  const found = (): Promise<Abilities> => (abilities ??= probeBubblewrap(bases, () => (plan ??= planBase())));

  const probe = async (fresh = false): Promise<Probe> => {
    if (fresh) abilities = plan = undefined;
    return (await found()).probe;
  };

  const isAlive = async (box: BoxFile): Promise<boolean> => (await processStart(box.pid)) === box.pidStarted;

  const describe = async (box: BoxFile): Promise<Sandbox> => {
    const sandbox: Sandbox = {
      id: box.id,
      driver: 'bubblewrap',
      labels: box.labels,
      status: box.pid === 0 || (await isAlive(box)) ? 'running' : 'exited',
      startedAt: box.startedAt,
      level: box.level,
      missing: box.missing,
    };
    if (sandbox.status === 'running') return sandbox;
    const exitCode = await exitCodeOf(boxes, box.id);
    const reason = box.reason ?? ((await killedForMemory(box.cgroups)) ? 'out of memory' : undefined);
    return { ...sandbox, ...(exitCode === undefined ? {} : { exitCode }), ...(reason === undefined ? {} : { reason }) };
  };

  /** The first process of a PID namespace takes all others with it. */
  const kill = async (box: BoxFile): Promise<void> => {
    if (box.pid === 0) return killMarked(box.id);
    while (await isAlive(box)) {
      send(box.pid, 'SIGKILL');
      await pause(5);
    }
  };

  const watchDisk = (box: BoxFile): void =>
    guard.watch(box.id, [box.workspace, box.spool], box.diskMb, () => {
      void writeBox(boxes, { ...box, reason: 'disk full' }).then(() => kill(box));
    });

  const start = async (spec: SandboxSpec): Promise<Sandbox> => {
    const able = await found();
    if (!able.probe.available) throw fail('sandbox.unavailable', { reason: able.probe.notes.join(' ') });
    if (spec.level === 'strict' && able.probe.level !== 'strict')
      throw fail('sandbox.unavailable', {
        reason: `bubblewrap here lacks what level strict asks for: ${able.probe.missing.join(', ')}`,
      });
    const image = spec.image === undefined ? undefined : await images.find(spec.image);
    if (spec.image !== undefined && !image)
      throw fail('sandbox.unavailable', {
        reason: `there is no image ${spec.image}; build it with: oubliette project image`,
      });
    if (await readBox(boxes, spec.id))
      throw fail('sandbox.failed', { reason: `a sandbox ${spec.id} exists already` }, { retryable: false });
    await prepareFolders(spec);
    const root = image?.root ?? (await baseFolder(await (plan ??= planBase()), bases));
    const planned: BoxFile = {
      id: spec.id,
      labels: spec.labels,
      mcp: spec.mcp,
      workspace: spec.workspace,
      spool: spec.spool,
      level: able.probe.level!,
      missing: able.probe.missing,
      diskMb: spec.limits.diskMb ?? defaultDiskMb,
      startedAt: new Date().toISOString(),
      pid: 0,
      pidStarted: '',
      cgroups: [],
    };
    const begun = await launch({
      spec: { ...spec, env: { ...image?.env, ...spec.env } },
      root,
      able,
      folder: boxFolder(boxes, spec.id),
      onLaunch: (cgroups) => writeBox(boxes, { ...planned, cgroups }),
    });
    const box: BoxFile = { ...planned, ...begun };
    try {
      await writeBox(boxes, box);
    } catch (error) {
      await discard(box);
      throw error;
    }
    watchDisk(box);
    return describe(box);
  };

  const discard = async (box: BoxFile): Promise<void> => {
    guard.unwatch(box.id);
    await kill(box);
    await channels.drop(box.mcp);
    await removeGroups(box.cgroups);
    await removeBoxFolder(boxes, box.id);
  };

  const list = async (labels: Record<string, string> = {}): Promise<Sandbox[]> => {
    const all: Sandbox[] = [];
    for (const id of await boxIds(boxes)) {
      const box = await readBox(boxes, id);
      if (!box || Object.entries(labels).some(([key, value]) => box.labels[key] !== value)) continue;
      const sandbox = await describe(box);
      if (sandbox.status === 'running' && box.pid !== 0) {
        watchDisk(box);
        await capLog(join(boxFolder(boxes, id), 'log'));
      }
      all.push(sandbox);
    }
    return all;
  };

  return {
    name: 'bubblewrap',
    probe,
    start,
    list,
    async stop(id, graceMs = 5000) {
      const box = await readBox(boxes, id);
      if (!box) return;
      const deadline = performance.now() + graceMs;
      if (await isAlive(box)) send(box.pid, 'SIGTERM');
      while (performance.now() < deadline && (await isAlive(box))) await pause(10);
      await kill(box);
      guard.unwatch(id);
      await channels.drop(box.mcp);
    },
    async remove(id) {
      const box = await readBox(boxes, id);
      if (box) await discard(box);
    },
    async get(id) {
      const box = await readBox(boxes, id);
      return box && describe(box);
    },
    async wait(id, abort) {
      const signal = abort ? AbortSignal.any([abort, closing.signal]) : closing.signal;
      for (let waitMs = 5; ; waitMs = Math.min(waitMs * 1.5, 250)) {
        const box = await readBox(boxes, id);
        const sandbox = box && (await describe(box));
        if (sandbox?.status !== 'running')
          return { exitCode: sandbox?.exitCode ?? null, ...(sandbox?.reason ? { reason: sandbox.reason } : {}) };
        await pause(waitMs, undefined, { signal });
      }
    },
    async exec(id, spec) {
      const box = await readBox(boxes, id);
      if (!box || !(await isAlive(box))) throw fail('sandbox.failed', { reason: `sandbox ${id} is not running` });
      return channels.exec(box.mcp, spec);
    },
    async logs(id, tail) {
      return (await readBox(boxes, id))
        ? tailOf(await readFile(join(boxFolder(boxes, id), 'log')).catch(() => Buffer.alloc(0)), tail)
        : '';
    },
    async buildBase() {
      const started = performance.now();
      plan = planBase();
      const root = await baseFolder(await plan, bases, true);
      await sweepBases(bases, new Set([root]));
      return { image: `base:${(await plan).id}`, duration_ms: Math.round(performance.now() - started) };
    },
    async buildImage(image, context) {
      const started = performance.now();
      await images.build(image, context, await baseFolder(await (plan ??= planBase()), bases));
      return { image, duration_ms: Math.round(performance.now() - started) };
    },
    hasImage: async (image) => image === undefined || (await images.find(image)) !== undefined,
    async close() {
      closing.abort();
      guard.close();
      await channels.close();
    },
  };
}

function send(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Gone already.
  }
}

/** Ends what a server had begun when it died. */
async function killMarked(id: string): Promise<void> {
  for (let pids = await markedWith(id); pids.length > 0; pids = await markedWith(id)) {
    for (const pid of pids) send(pid, 'SIGKILL');
    await pause(5);
  }
}

/** Written in append mode, so truncating it is safe while it is being written. */
async function capLog(path: string): Promise<void> {
  const file = await open(path, 'r+').catch(() => undefined);
  try {
    if (file && (await file.stat()).size > maxLogBytes) await file.truncate(0);
  } finally {
    await file?.close();
  }
}
