import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parentPort } from 'node:worker_threads';
import type { Draft, FileAnswer, FileAsk, KnownFile, Looked, Placing, Refusal } from './file-messages.ts';

const port = parentPort;
if (!port) throw new Error('file-worker runs as a worker thread only');
const sync = promisify(fsync);
const syncAtOnce = 4;
/** One after the other: what is placed was drafted before. */
let last: Promise<void> = Promise.resolve();

port.on('message', (ask: FileAsk) => {
  last = last.then(async () => {
    try {
      port.postMessage({ number: ask.number, value: await answer(ask) } satisfies FileAnswer);
    } catch (error) {
      port.postMessage({ number: ask.number, error: refusal(error) } satisfies FileAnswer);
    }
  });
});

function answer(ask: FileAsk): unknown {
  switch (ask.kind) {
    case 'draft':
      return draft(ask.drafts);
    case 'place':
      return place(ask.moves, ask.folders);
    case 'look':
      return ask.files.map((file) => look(ask.folder, file));
  }
}

interface Open {
  handle: number;
  temp: string;
}

/** All are written before the first is synced: the disk then takes many at once. */
async function draft(drafts: readonly { folder: string; text: string }[]): Promise<(Draft | Refusal)[]> {
  const made = drafts.map(({ folder, text }) => write(folder, text));
  const open = made.flatMap((each) => ('handle' in each ? [each] : []));
  const failed = new Map<Open, Refusal>();
  const syncOne = async (each: Open): Promise<void> => {
    try {
      // A hop to another thread costs as much as a short sync.
      if (open.length === 1) fsyncSync(each.handle);
      else await sync(each.handle);
    } catch (error) {
      failed.set(each, refusal(error));
    }
  };
  let next = 0;
  const syncSome = async (): Promise<void> => {
    while (next < open.length) await syncOne(open[next++] as Open);
  };
  await Promise.all(Array.from({ length: Math.min(syncAtOnce, open.length) }, syncSome));
  return made.map((each) => {
    if (!('handle' in each)) return each;
    const problem = failed.get(each);
    const { mtimeMs, size } = fstatSync(each.handle);
    closeSync(each.handle);
    if (problem) discard(each.temp);
    return problem ?? { temp: each.temp, mtimeMs, size };
  });
}

function write(folder: string, text: string): Open | Refusal {
  const temp = join(folder, `.${randomBytes(9).toString('hex')}.tmp`);
  let handle: number | undefined;
  try {
    handle = openSync(temp, 'wx', 0o600);
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length;) done += writeSync(handle, bytes, done);
    return { handle, temp };
  } catch (error) {
    if (handle !== undefined) closeSync(handle);
    discard(temp);
    return refusal(error);
  }
}

/** True for those that took their place, false where something was there already. */
function place(moves: readonly Placing[], folders: readonly string[]): (boolean | Refusal)[] {
  const placed = moves.map(({ temp, path }) => {
    try {
      linkSync(temp, path);
      return true;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EEXIST' ? false : refusal(error);
    } finally {
      discard(temp);
    }
  });
  if (placed.includes(true)) for (const folder of folders) syncFolder(folder);
  return placed;
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function look(folder: string, known: KnownFile): Looked {
  const path = join(folder, known.path);
  const info = stat(path);
  if (!info?.isFile()) return 'gone';
  const { mtimeMs, size } = info;
  if (known.mtimeMs === mtimeMs && known.size === size) return 'same';
  try {
    return { mtimeMs, size, text: readFileSync(path, 'utf8') };
  } catch {
    // It is there: what was known of it stands until it can be read again.
    return 'same';
  }
}

function stat(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function discard(temp: string): void {
  try {
    unlinkSync(temp);
  } catch {
    // Gone already; what stays is swept later.
  }
}

function refusal(error: unknown): Refusal {
  const { code = 'UNKNOWN', message } = error as NodeJS.ErrnoException;
  return { code, message };
}
