import type { Delta } from '../schema/index.ts';
import type { StoredEvent } from '../store/index.ts';

const maxTailEvents = 4096;
const maxTailBytes = 8 * 1024 * 1024;
const maxBatch = 512;
const maxBatchBytes = 256 * 1024;
const maxKeptBatches = 32;
const maxWaitingDeltas = 256;

/** Several events in a row, shared by every stream that stands at the same place; `frames` is made once. */
export class Batch {
  readonly kind = 'events';
  readonly events: readonly StoredEvent[];
  #frames: Buffer | undefined;
  constructor(events: readonly StoredEvent[]) {
    this.events = events;
  }
  get last(): number {
    return this.events[this.events.length - 1]!.index;
  }
  /** The events as server-sent event frames. */
  get frames(): Buffer {
    return (this.#frames ??= Buffer.from(
      this.events.map((event) => `id: ${event.index}\nevent: ${event.type}\ndata: ${event.json}\n\n`).join(''),
    ));
  }
}

/** A live-only piece, valid for a reader that has seen everything up to `after` and nothing more. */
interface PlacedDelta {
  after: number;
  delta: Delta;
}

/** One reader's place in a feed. */
export interface Reader {
  wake: () => void;
  deltas: PlacedDelta[];
}

/**
 * The newest events of one followed session, kept in memory while anyone follows it: a stream that is up to
 * date never asks the database, and a thousand of them share one batch.
 */
export class Feed {
  readonly readers = new Set<Reader>();
  #tail: StoredEvent[] = [];
  #tailBytes = 0;
  /** By the index they follow, the latest used last: streams that stand at the same place share one, wherever that is. */
  readonly #batches = new Map<number, Batch | Promise<Batch | undefined>>();
  newest = -1;
  isRemoved = false;

  /** Takes events that are committed. A hole before them empties the tail, so that readers go to the table. */
  push(events: readonly StoredEvent[]): void {
    for (const event of events) {
      if (event.index <= this.newest) continue;
      if (event.index !== this.newest + 1) this.#forget();
      this.#tail.push(event);
      this.#tailBytes += event.json.length;
      this.newest = event.index;
    }
    this.#trim();
    this.wakeAll();
  }

  /** Another process wrote up to here. */
  noticed(newest: number): void {
    if (newest <= this.newest) return;
    this.#forget();
    this.newest = newest;
    this.wakeAll();
  }

  delta(delta: Delta): void {
    const placed = { after: this.newest, delta };
    for (const reader of this.readers) {
      if (reader.deltas.length >= maxWaitingDeltas) reader.deltas.shift();
      reader.deltas.push(placed);
      reader.wake();
    }
  }

  remove(): void {
    this.isRemoved = true;
    this.wakeAll();
  }

  /** What follows `after`: from memory, or read once for all who ask for it; undefined when there is nothing. */
  next(after: number, read: (after: number, max: number) => Promise<StoredEvent[]>): Batch | Promise<Batch | undefined> {
    const known = this.#batches.get(after);
    const batch = known ?? this.#fromTail(after) ?? this.#fromTable(after, read);
    if (known) this.#batches.delete(after);
    this.#batches.set(after, batch);
    if (this.#batches.size > maxKeptBatches) this.#batches.delete(this.#batches.keys().next().value!);
    return batch;
  }

  #fromTail(after: number): Batch | undefined {
    const first = this.#tail[0];
    if (!first || first.index > after + 1) return undefined;
    const start = after + 1 - first.index;
    return new Batch(cut(this.#tail, start));
  }

  #fromTable(after: number, read: (after: number, max: number) => Promise<StoredEvent[]>): Promise<Batch | undefined> {
    return read(after, maxBatch).then(
      (events) => {
        if (events.length > 0) return new Batch(cut(events, 0));
        this.#batches.delete(after);
        return undefined;
      },
      (error: unknown) => {
        this.#batches.delete(after);
        throw error;
      },
    );
  }

  wakeAll(): void {
    for (const reader of this.readers) reader.wake();
  }

  #forget(): void {
    this.#tail = [];
    this.#tailBytes = 0;
  }

  #trim(): void {
    if (this.#tail.length <= maxTailEvents && this.#tailBytes <= maxTailBytes) return;
    let drop = Math.max(0, this.#tail.length - maxTailEvents / 2);
    for (const event of this.#tail.slice(0, drop)) this.#tailBytes -= event.json.length;
    while (this.#tailBytes > maxTailBytes && drop < this.#tail.length) this.#tailBytes -= this.#tail[drop++]!.json.length;
    this.#tail = this.#tail.slice(drop);
  }
}

/** As many events from `start` on as one write should carry, at least one. */
function cut(events: readonly StoredEvent[], start: number): StoredEvent[] {
  let end = start;
  for (let bytes = 0; end < events.length && end - start < maxBatch && bytes < maxBatchBytes; end++) bytes += events[end]!.json.length;
  return events.slice(start, end);
}
