import type { Delta } from '../schema/index.ts';
import { eventsOf, runAfter, type EventRun, type StoredEvent } from '../store/index.ts';

const maxTailRuns = 4096;
const maxTailBytes = 8 * 1024 * 1024;
const batchBytes = 256 * 1024;
const maxKeptBatches = 32;
const maxWaitingDeltas = 256;
const recordWaitsMs = 5;

/** Consecutive events, ready to be sent, shared by all streams that have read up to the same index. */
export class Batch {
  readonly kind = 'events';
  readonly last: number;
  /** The events as server-sent event frames. */
  readonly frames: Buffer;
  readonly #first: number;

  constructor(runs: readonly EventRun[]) {
    this.#first = runs[0]!.first;
    this.last = runs[runs.length - 1]!.last;
    this.frames = runs.length === 1 ? runs[0]!.frames : Buffer.concat(runs.map((run) => run.frames));
  }

  get events(): StoredEvent[] {
    return [...eventsOf({ first: this.#first, last: this.last, frames: this.frames })];
  }
}

/** A live-only piece, valid for a reader that has seen everything up to `after` and nothing more. */
interface PlacedDelta {
  after: number;
  delta: Delta;
}

/** Reads what follows an index: at least this many bytes, if there are as many. */
export type ReadRuns = (after: number, bytes: number) => Promise<EventRun[]>;

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
  #tail: EventRun[] = [];
  #tailBytes = 0;
  /** By the index they follow, most recently used last: streams that have read equally far share one. */
  readonly #batches = new Map<number, Batch | Promise<Batch | undefined>>();
  newest = -1;
  isRemoved = false;
  #isWaking = false;
  #waking: NodeJS.Timeout | undefined;

  /**
   * Takes events that are committed. A hole before them empties the tail, so that readers go to the table. What is
   * only the record of something that its readers did themselves may wait a moment, to travel with what comes next.
   */
  push(runs: readonly EventRun[], isRecord = false): void {
    for (const run of runs) {
      if (run.last <= this.newest) continue;
      if (run.first !== this.newest + 1) this.#forget();
      this.#tail.push(run);
      this.#tailBytes += run.frames.length;
      this.newest = run.last;
    }
    this.#trim();
    if (isRecord) this.#waking ??= setTimeout(() => this.wakeAll(), recordWaitsMs).unref();
    else this.#wakeSoon();
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
  next(after: number, read: ReadRuns): Batch | Promise<Batch | undefined> {
    const known = this.#batches.get(after);
    const batch = known ?? this.#fromTail(after) ?? this.#fromTable(after, read);
    if (known) this.#batches.delete(after);
    this.#batches.set(after, batch);
    if (this.#batches.size > maxKeptBatches) this.#batches.delete(this.#batches.keys().next().value!);
    return batch;
  }

  #fromTail(after: number): Batch | undefined {
    const first = this.#tail[0];
    if (!first || first.first > after + 1) return undefined;
    // Most readers are nearly up to date.
    let start = this.#tail.length - 1;
    while (this.#tail[start]!.first > after + 1) start--;
    const runs = [runAfter(this.#tail[start]!, after)];
    for (let bytes = runs[0]!.frames.length; bytes < batchBytes && ++start < this.#tail.length;) {
      runs.push(this.#tail[start]!);
      bytes += this.#tail[start]!.frames.length;
    }
    return new Batch(runs);
  }

  #fromTable(after: number, read: ReadRuns): Promise<Batch | undefined> {
    return read(after, batchBytes).then(
      (runs) => {
        if (runs.length > 0) return new Batch(runs);
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
    clearTimeout(this.#waking);
    this.#waking = undefined;
    for (const reader of this.readers) reader.wake();
  }

  /** Wakes readers once those who awaited the commit have gone on: they may append more, and they answer first. */
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    process.nextTick(() => {
      this.#isWaking = false;
      this.wakeAll();
    });
  }

  #forget(): void {
    this.#tail = [];
    this.#tailBytes = 0;
  }

  #trim(): void {
    if (this.#tail.length <= maxTailRuns && this.#tailBytes <= maxTailBytes) return;
    let drop = Math.max(0, this.#tail.length - maxTailRuns / 2);
    for (const run of this.#tail.slice(0, drop)) this.#tailBytes -= run.frames.length;
    while (this.#tailBytes > maxTailBytes && drop < this.#tail.length)
      this.#tailBytes -= this.#tail[drop++]!.frames.length;
    this.#tail = this.#tail.slice(drop);
  }
}
