import { parentPort, workerData } from 'node:worker_threads';
import type { Hash } from './search-docs.ts';
import { SearchFile, type Change } from './search-file.ts';
import { SearchMemory } from './search-memory.ts';
import type { Answer, Ask, SearchWorkerData } from './search-messages.ts';

const saveAfterMs = 250;
const settleAfterMs = 2000;
const settleAt = 5000;

const port = parentPort;
if (!port) throw new Error('search-worker runs as a worker thread only');
const { path } = workerData as SearchWorkerData;
const memory = new SearchMemory();
const file = SearchFile.open(path, memory, (problem) => port.postMessage({ problem } satisfies Answer));
let unsaved: Change[] = [];
let unseen: Set<string> | undefined;
let saving: NodeJS.Timeout | undefined;
let settling: NodeJS.Timeout | undefined;

port.on('message', (ask: Ask) => {
  try {
    port.postMessage({ number: ask.number, value: answer(ask) } satisfies Answer);
  } catch (error) {
    port.postMessage({ number: ask.number, error: (error as Error).message } satisfies Answer);
  }
});
port.postMessage({ isReady: { count: memory.docs.living } } satisfies Answer);

function answer(ask: Ask): unknown {
  switch (ask.kind) {
    case 'query':
      return memory.query(ask.text, ask.options);
    case 'rank':
      return memory.rank(ask.text, ask.options);
    case 'put':
      return changed(ask.docs.filter((doc) => memory.put(doc)).map((doc) => ({ id: doc.id, doc })));
    case 'remove':
      return changed(ask.ids.filter((id) => memory.remove(id)).map((id) => ({ id })));
    case 'sum':
      return { count: memory.docs.living, sum: memory.docs.sum() };
    case 'compare':
      return compare(ask.ids, ask.stamps);
    case 'compared':
      return takeUnseen();
    case 'settle':
      return settle();
    case 'close':
      return close();
  }
}

/** Which of these are missing or changed here. */
function compare(ids: readonly string[], stamps: Uint32Array): string[] {
  unseen ??= new Set(memory.docs.livingIds());
  return ids.filter((id, index) => {
    unseen?.delete(id);
    const stamp: Hash = [stamps[index * 2] as number, stamps[index * 2 + 1] as number];
    return !memory.isCurrent(id, stamp);
  });
}

/** What the comparison did not name. */
function takeUnseen(): string[] {
  const left = [...(unseen ?? [])];
  unseen = undefined;
  return left;
}

/** Saved a moment later and in one go: a lost tail is noticed and loaded again at the next start. */
function changed(changes: readonly Change[]): void {
  unsaved.push(...changes);
  if (unsaved.length === 0) return;
  saving ??= setTimeout(save, saveAfterMs).unref();
  // What is switched on and off again and again makes the file grow, and not the memory.
  const pending = Math.max(memory.unsettled, (file?.changes ?? 0) + unsaved.length);
  if (pending < settleAt) return;
  // Changes that never pause must not put it off for ever.
  if (settling && pending > settleAt + 2 * memory.docs.living) return;
  clearTimeout(settling);
  settling = setTimeout(settle, settleAfterMs).unref();
}

function save(): void {
  clearTimeout(saving);
  saving = undefined;
  const changes = unsaved;
  unsaved = [];
  if (changes.length > 0) attempt(() => file?.append(changes));
}

function settle(): void {
  clearTimeout(settling);
  clearTimeout(saving);
  settling = undefined;
  saving = undefined;
  unsaved = [];
  memory.settle();
  attempt(() => file?.save(memory));
}

/** A write that fails costs some loading at the next start, nothing else. */
function attempt(write: () => void): void {
  try {
    write();
  } catch (error) {
    port?.postMessage({ problem: `the search index was not saved: ${(error as Error).message}` } satisfies Answer);
  }
}

function close(): void {
  save();
  attempt(() => file?.close());
  port?.close();
}
