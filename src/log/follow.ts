import type { Delta } from '../schema/index.ts';
import type { Bounds } from '../store/index.ts';
import type { Batch, Feed, Reader, ReadRuns } from './feed.ts';

/** What a follower gets: where the log stands, then events in order, with live pieces between them. */
export type Followed =
  | { kind: 'hello'; bounds: Bounds; isResumed: boolean }
  | { kind: 'reset'; bounds: Bounds }
  | Batch
  | { kind: 'delta'; delta: Delta };

interface Source {
  after: number | undefined;
  signal: AbortSignal;
  bounds(): Promise<Bounds>;
  read: ReadRuns;
  enter(reader: Reader): { feed: Feed; leave: () => void };
}

/**
 * Reads on from a cursor for as long as the signal allows. The pace is the consumer's: nothing is queued for a
 * slow one but its own place in the log, and a bounded number of live pieces.
 */
export async function* follow(source: Source): AsyncGenerator<Followed, void, void> {
  const { signal } = source;
  if (signal.aborted) return;
  let wake = (): void => {};
  const reader: Reader = { wake: () => wake(), deltas: [] };
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  // Subscribes before reading, so that nothing can be stored unseen in between.
  const { feed, leave } = source.enter(reader);
  try {
    const first = await source.bounds();
    feed.noticed(first.newest);
    const isInside = source.after === undefined || (source.after >= first.oldest - 1 && source.after <= feed.newest);
    let cursor = isInside ? (source.after ?? first.oldest - 1) : first.oldest - 1;
    yield { kind: 'hello', bounds: first, isResumed: source.after !== undefined };
    if (!isInside) yield { kind: 'reset', bounds: first };
    while (!signal.aborted && !feed.isRemoved) {
      if (cursor < feed.newest) {
        const batch = await feed.next(cursor, source.read);
        if (batch) {
          cursor = batch.last;
          yield batch;
          continue;
        }
        // The log was removed or cut under the reader.
        const bounds = await source.bounds();
        if (bounds.newest < bounds.oldest) return;
        cursor = bounds.oldest - 1;
        yield { kind: 'reset', bounds };
        continue;
      }
      const placed = reader.deltas.shift();
      if (placed) {
        if (placed.after === cursor) yield { kind: 'delta', delta: placed.delta };
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (signal.aborted || feed.isRemoved || cursor < feed.newest || reader.deltas.length > 0) resolve();
      });
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    leave();
  }
}
