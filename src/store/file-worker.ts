import { readFileSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadAnswer } from './asked-thread.ts';
import type { FileAsk, KnownFile, Looked, SharedPlace } from './file-messages.ts';
import { refusalOf } from './new-files.ts';
import { SharedFolder } from './shared-folder.ts';

const port = parentPort;
if (!port) throw new Error('file-worker runs as a worker thread only');
// Whoever waits for the lock meets an error each time it looks; of any error only its code and its message leave this thread.
Error.stackTraceLimit = 0;
let shared: SharedFolder | undefined;

port.on('message', async (ask: FileAsk) => {
  try {
    port.postMessage({ number: ask.number, value: await answer(ask) } satisfies ThreadAnswer);
  } catch (error) {
    port.postMessage({ number: ask.number, error: refusalOf(error) } satisfies ThreadAnswer);
  }
});

function answer(ask: FileAsk): unknown {
  if (ask.kind === 'look') return ask.files.map((file) => look(ask.folder, file));
  shared ??= new SharedFolder(workerData as SharedPlace);
  switch (ask.kind) {
    case 'create':
      return shared.create(ask.files, ask.since);
    case 'replace':
      return shared.replace(ask.path, ask.text);
    case 'settle':
      return shared.settle(ask.paths);
    case 'settle-all':
      return shared.settleAll();
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
  } catch (error) {
    // It is there: what was known of it stands until it can be read again.
    return known.mtimeMs === undefined ? { problem: (error as Error).message } : 'same';
  }
}

function stat(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
