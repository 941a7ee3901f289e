import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxLevel } from '../driver.ts';

/** What is kept of a running sandbox, so that a later server finds it again. */
export interface BoxFile {
  id: string;
  labels: Record<string, string>;
  mcp: string;
  workspace: string;
  spool: string;
  level: SandboxLevel;
  missing: string[];
  diskMb: number;
  startedAt: string;
  /**
   * PID of the first process of its PID namespace, and when that started: a number alone may be someone else's now.
   * 0 until it has begun.
   */
  pid: number;
  pidStarted: string;
  /** Folders of its control group: a later server may make its own elsewhere. */
  cgroups: string[];
  /** Set by us when we ended it for a reason. */
  reason?: string;
}

export const boxFolder = (home: string, id: string): string => join(home, id);

export async function writeBox(home: string, box: BoxFile): Promise<void> {
  const path = join(boxFolder(home, box.id), 'box.json');
  await writeFile(`${path}.tmp`, JSON.stringify(box), { mode: 0o600 });
  await rename(`${path}.tmp`, path);
}

export async function readBox(home: string, id: string): Promise<BoxFile | undefined> {
  if (!/^[\w.-]+$/.test(id)) return undefined;
  try {
    const box = JSON.parse(await readFile(join(boxFolder(home, id), 'box.json'), 'utf8')) as BoxFile | null;
    return box?.id === id ? box : undefined;
  } catch {
    return undefined;
  }
}

export async function boxIds(home: string): Promise<string[]> {
  return readdir(home).catch(() => []);
}

export const removeBoxFolder = (home: string, id: string): Promise<void> =>
  rm(boxFolder(home, id), { recursive: true, force: true });

/** When a process started, in the kernel's own count; undefined when it is gone or only waits to be reaped. */
export async function processStart(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The second field is the program's name in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

/** Set in the environment of every process of a box, from the very first on. */
export const boxMark = 'OUBLIETTE_BOX';

/** Host PIDs of all that carries the mark of a box. */
export async function markedWith(id: string): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'utf8').catch(() => '');
    if (environment.split('\0').includes(`${boxMark}=${id}`)) found.push(Number(name));
  }
  return found;
}

/** Host PIDs of a process's children. */
export async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** The exit code that bubblewrap noted; undefined while it runs or when it was killed itself. */
export async function exitCodeOf(home: string, id: string): Promise<number | undefined> {
  const text = await readFile(join(boxFolder(home, id), 'status.json'), 'utf8').catch(() => '');
  const code = /"exit-code": *(\d+)/.exec(text)?.[1];
  return code === undefined ? undefined : Number(code);
}
