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
import type { Draft, FileAnswer, FileAsk, KnownFile, Looked, Placed, Placing, Refusal } from './file-messages.ts';

const port = parentPort;
if (!port) throw new Error('file-worker runs as a worker thread only');
const sync = promisify(fsync);
const syncAtOnce = 4;

port.on('message', async (ask: FileAsk) => {
  try {
    port.postMessage({ number: ask.number, value: await answer(ask) } satisfies FileAnswer);
  } catch (error) {
    port.postMessage({ number: ask.number, error: refusal(error) } satisfies FileAnswer);
  }
});

function answer(ask: FileAsk): unknown {
  switch (ask.kind) {
    case 'draft':
      return draft(ask.drafts, ask.isAlone);
    case 'place':
      return Promise.all(ask.moves.map((move) => place(move)));
    case 'sync':
      return Promise.all(ask.folders.map((folder) => syncFolder(folder, ask.isAlone)));
    case 'create':
      return create(ask.move, ask.syncFolder);
    case 'look':
      return ask.files.map((file) => look(ask.folder, file));
  }
}

type Unwritten = { folder: string; text: string };

interface Open {
  handle: number;
  temp: string;
}

/** All are written before the first is synced: the disk then takes many at once. */
async function draft(drafts: readonly Unwritten[], isAlone: boolean): Promise<(Draft | Refusal)[]> {
  const made = drafts.map(write);
  const open = made.flatMap((each) => ('handle' in each ? [each] : []));
  const failed = new Map<Open, Refusal>();
  const syncOne = async (each: Open): Promise<void> => {
    try {
      await syncHandle(each.handle, isAlone && open.length === 1);
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

function write({ folder, text }: Unwritten): Open | Refusal {
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

/** The file system itself decides who was first. */
async function place({ from, path }: Placing): Promise<Placed | Refusal> {
  const ready = 'temp' in from ? from : (await draft([from], true))[0]!;
  if (!('temp' in ready)) return ready;
  try {
    linkSync(ready.temp, path);
    return { mtimeMs: ready.mtimeMs, size: ready.size };
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EEXIST' ? false : refusal(error);
  } finally {
    discard(ready.temp);
  }
}

async function create(move: Placing, folder: string): Promise<Placed | Refusal> {
  const placed = await place(move);
  if (placed && 'size' in placed) await syncFolder(folder, true);
  return placed;
}

async function syncFolder(folder: string, isAlone: boolean): Promise<void> {
  const handle = openSync(folder, 'r');
  try {
    await syncHandle(handle, isAlone);
  } finally {
    closeSync(handle);
  }
}

/** For one writer a hop to another thread costs as much as the sync itself; several share what the disk does. */
async function syncHandle(handle: number, isAlone: boolean): Promise<void> {
  if (isAlone) fsyncSync(handle);
  else await sync(handle);
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
