import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A file that is written under a temporary name, ready to be placed. */
export interface Draft {
  temp: string;
  /** Its bytes are on disk. */
  isSynced: boolean;
  mtimeMs: number;
  size: number;
}

/** What the system said when it refused. */
export interface Refusal {
  code: string;
  message: string;
  /** SQLite's own number. */
  errcode?: number;
}

/** What a file is now, or false where something was there already. */
export type Placed = { mtimeMs: number; size: number } | false;

interface Written {
  handle: number;
  temp: string;
}

const sync = promisify(fsync);
const syncAtOnce = 4;

/**
 * Writes files under temporary names, for threads that may wait for the disk. All are written before the first is synced:
 * the disk then takes many at once.
 */
export async function draftFiles(
  folder: string,
  texts: readonly string[],
  isSynced: boolean,
): Promise<(Draft | Refusal)[]> {
  const made = texts.map((text) => write(folder, text));
  const written = made.filter((each) => 'handle' in each);
  const problems = isSynced ? await syncAll(written.map(({ handle }) => handle)) : new Map<number, Refusal>();
  return made.map((each) => {
    if (!('handle' in each)) return each;
    const problem = problems.get(each.handle);
    const { mtimeMs, size } = fstatSync(each.handle);
    closeSync(each.handle);
    if (problem) discardDraft(each.temp);
    return problem ?? { temp: each.temp, isSynced, mtimeMs, size };
  });
}

/** Makes the bytes of a draft last that was not synced when it was written; throws when the disk refuses. */
export function syncDraft({ temp, isSynced }: Draft): void {
  if (isSynced) return;
  const handle = openSync(temp, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Puts a draft in its place unless something is there already: the file system itself decides who was first. */
export function placeDraft({ temp, mtimeMs, size }: Draft, path: string): Placed | Refusal {
  try {
    linkSync(temp, path);
    return { mtimeMs, size };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EEXIST' ? false : refusalOf(error);
  }
}

/** Puts a draft in its place, whatever is there; throws when the system refuses. */
export function moveDraft({ temp }: Draft, path: string): void {
  try {
    renameSync(temp, path);
  } catch (error) {
    discardDraft(temp);
    throw error;
  }
}

/** Makes files, or what was placed in folders, last; what is gone needs nothing. Throws when the disk refuses. */
export async function syncPaths(paths: readonly string[]): Promise<void> {
  const handles = paths.flatMap((path) => openIfThere(path) ?? []);
  const problems = await syncAll(handles);
  for (const handle of handles) closeSync(handle);
  for (const problem of problems.values()) throw errorOf(problem);
}

/**
 * Makes everything on the file system of a folder last: a fraction of what many files cost one by one. Answers false where
 * that cannot be done, or where some of its folders lie on another one.
 */
export async function syncFileSystem(folder: string, folders: Iterable<string>): Promise<boolean> {
  const deviceOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev;
  const device = deviceOf(folder);
  for (const each of folders) if ((deviceOf(each) ?? device) !== device) return false;
  return new Promise((resolve) => execFile('sync', ['-f', folder], (error) => resolve(error === null)));
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** For one a hop to another thread costs as much as the sync itself; several share what the disk does. */
async function syncAll(handles: readonly number[]): Promise<Map<number, Refusal>> {
  const problems = new Map<number, Refusal>();
  let next = 0;
  const syncSome = async (): Promise<void> => {
    while (next < handles.length) {
      const handle = handles[next++]!;
      try {
        if (handles.length === 1) fsyncSync(handle);
        else await sync(handle);
      } catch (error) {
        problems.set(handle, refusalOf(error));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(syncAtOnce, handles.length) }, syncSome));
  return problems;
}

/** No other process or thread has it: to ask the system for each file would cost as much as to write it. */
const ownName = randomBytes(9).toString('hex');
let named = 0;

function write(folder: string, text: string): Written | Refusal {
  const temp = join(folder, `.${ownName}-${named++}.tmp`);
  let handle: number | undefined;
  try {
    handle = openSync(temp, 'wx', 0o600);
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length;) done += writeSync(handle, bytes, done);
    return { handle, temp };
  } catch (error) {
    if (handle !== undefined) closeSync(handle);
    discardDraft(temp);
    return refusalOf(error);
  }
}

/** Removes the temporary name; what is placed stays. */
export function discardDraft(temp: string): void {
  try {
    unlinkSync(temp);
  } catch {
    // Gone already; what stays is swept later.
  }
}

export function refusalOf(error: unknown): Refusal {
  const { code = 'UNKNOWN', message, errcode } = error as NodeJS.ErrnoException & { errcode?: number };
  return { code, message, ...(errcode !== undefined && { errcode }) };
}

export function errorOf({ message, ...codes }: Refusal): Error {
  return Object.assign(new Error(message), codes);
}
