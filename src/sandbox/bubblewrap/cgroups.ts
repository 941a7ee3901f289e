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
  /** Makes a group and answers its folders; a process joins by writing its pid into `cgroup.procs` of each. */
  create(id: string, limits: SandboxLimits): Promise<string[]>;
}

/** True when the kernel killed for memory in a group. */
export async function killedForMemory(folders: string[]): Promise<boolean> {
  for (const folder of folders)
    for (const file of ['memory.events', 'memory.oom_control'])
      if (/^oom_kill [1-9]/m.test(await readFile(join(folder, file), 'utf8').catch(() => ''))) return true;
  return false;
}

/** Removes a group whose processes are gone; the kernel lets go of it a moment after its last process. */
export async function removeGroups(folders: string[]): Promise<void> {
  for (const folder of folders)
    for (let attempt = 0; attempt < 50; attempt++) {
      const problem = await rmdir(folder).then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error.code,
      );
      if (problem !== 'EBUSY') break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
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
    await removeGroups(await groups.create(`probe-${process.pid}`, { memoryMb: 64, pids: 16, cpus: 1 }));
  } catch {
    return undefined;
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
      return paths(id);
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
