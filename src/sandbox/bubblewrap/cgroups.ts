import { access, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SandboxLimits } from '../driver.ts';

const root = '/sys/fs/cgroup';
const mib = 1024 * 1024;
const cpuPeriod = 100_000;
type Controller = 'memory' | 'pids' | 'cpu';
const controllers: Controller[] = ['memory', 'pids', 'cpu'];

/** Control groups that we may make on this machine. */
export interface Cgroups {
  /** Controllers that really limit. */
  has: Controller[];
  /** Makes a group; answers the files that a process must write its pid into to join. */
  create(id: string, limits: SandboxLimits): Promise<string[]>;
  /** How often the kernel killed for memory in this group. */
  killedForMemory(id: string): Promise<boolean>;
  remove(id: string): Promise<void>;
}

/** Finds where we may make groups by making one; undefined when nowhere. Version 2 and the older one. */
export async function findCgroups(): Promise<Cgroups | undefined> {
  const isUnified = await exists(join(root, 'cgroup.controllers'));
  const own = await ownGroups();
  const folders: Partial<Record<Controller, string>> = {};
  if (isUnified) {
    const parent =
      process.getuid?.() === 0 ? join(root, 'oubliette') : join(root, dirname(own.get('') ?? '/'), 'oubliette');
    if (await tryMake(parent)) {
      for (const name of controllers) await tryWrite(join(dirname(parent), 'cgroup.subtree_control'), `+${name}`);
      for (const name of controllers)
        if (await tryWrite(join(parent, 'cgroup.subtree_control'), `+${name}`)) folders[name] = parent;
    }
  } else {
    for (const name of controllers)
      for (const place of [own.get(name) ?? '/', '/']) {
        const parent = join(root, name, place, 'oubliette');
        if (folders[name] || !(await exists(join(root, name, place, 'tasks'))) || !(await tryMake(parent))) continue;
        folders[name] = parent;
      }
  }
  const groups = cgroupsIn(folders, isUnified);
  try {
    await groups.create('probe', { memoryMb: 64, pids: 16, cpus: 1 });
  } catch {
    return undefined;
  } finally {
    await groups.remove('probe');
  }
  return groups.has.length > 0 ? groups : undefined;
}

function cgroupsIn(folders: Partial<Record<Controller, string>>, isUnified: boolean): Cgroups {
  const has = controllers.filter((name) => folders[name]);
  const paths = (id: string): string[] => [...new Set(has.map((name) => join(folders[name]!, id)))];
  return {
    has,
    async create(id, limits) {
      for (const path of paths(id)) await mkdir(path, { recursive: true });
      for (const name of has)
        for (const [file, value] of settings(name, limits, isUnified)) {
          const written = writeFile(join(folders[name]!, id, file), value);
          // Without swap there is no such file; then there is nothing to forbid.
          await (file.includes('swap') || file.includes('memsw') ? written.catch(() => {}) : written);
        }
      return paths(id).map((path) => join(path, 'cgroup.procs'));
    },
    async killedForMemory(id) {
      if (!folders.memory) return false;
      const file = join(folders.memory, id, isUnified ? 'memory.events' : 'memory.oom_control');
      return /^oom_kill [1-9]/m.test(await readFile(file, 'utf8').catch(() => ''));
    },
    async remove(id) {
      for (const path of paths(id)) await removeGroup(path);
    },
  };
}

function settings(name: Controller, limits: SandboxLimits, isUnified: boolean): [string, string][] {
  const memory = String(limits.memoryMb * mib);
  const quota = String(Math.round(limits.cpus * cpuPeriod));
  if (name === 'pids') return [['pids.max', String(limits.pids)]];
  if (name === 'memory')
    return isUnified
      ? [
          ['memory.max', memory],
          ['memory.swap.max', '0'],
        ]
      : [
          ['memory.limit_in_bytes', memory],
          ['memory.memsw.limit_in_bytes', memory],
        ];
  return isUnified
    ? [['cpu.max', `${quota} ${cpuPeriod}`]]
    : [
        ['cpu.cfs_period_us', String(cpuPeriod)],
        ['cpu.cfs_quota_us', quota],
      ];
}

/** The kernel lets go of a group a moment after its last process. */
async function removeGroup(path: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      return await rmdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Our own group per controller; the unified hierarchy under the empty name. */
async function ownGroups(): Promise<Map<string, string>> {
  const own = new Map<string, string>();
  for (const line of (await readFile('/proc/self/cgroup', 'utf8').catch(() => '')).split('\n')) {
    const [, names, path] = line.split(':');
    for (const name of names?.split(',') ?? []) own.set(name, path ?? '/');
  }
  return own;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
const tryMake = (path: string): Promise<boolean> =>
  mkdir(path, { recursive: true }).then(
    () => true,
    () => false,
  );
const tryWrite = (path: string, text: string): Promise<boolean> =>
  writeFile(path, text).then(
    () => true,
    () => false,
  );
