import type { ToolTable } from './tool-table.ts';
import { compareSummaries, type OrderKey, type ToolSummary } from './tool-summary.ts';

const keptSteps = 7;
const takeInAtOnce = 256;

/** The tools of a table in list order, so that a page of a large catalog costs no sort. */
export class ToolOrder {
  readonly #table: ToolTable;
  #numbers: Int32Array = new Int32Array(1024);
  #size = 0;
  /** Tools not yet sorted in: many are placed in one go, which moves the others only once. */
  #added: number[] = [];
  /** Grows whenever tools change their places. */
  #moves = 0;

  constructor(table: ToolTable) {
    this.#table = table;
  }

  get size(): number {
    return this.#size + this.#added.length;
  }

  /** Takes all tools of the table at once. */
  settle(): void {
    const keys = Array.from(this.#table.numbers(), (number) => {
      const { name, createdAt, id, bundleID } = this.#table.key(number);
      return { name, createdAt, id, bundleID, number };
    });
    keys.sort(compareSummaries);
    this.#added = [];
    this.#moves++;
    this.#size = keys.length;
    this.#numbers = new Int32Array(Math.max(1024, keys.length));
    keys.forEach(({ number }, at) => (this.#numbers[at] = number));
  }

  /** Good until the next change. */
  save(): Uint8Array {
    this.#takeIn();
    return new Uint8Array(this.#numbers.buffer, this.#numbers.byteOffset, this.#size * 4);
  }

  restore(saved: Uint8Array): void {
    this.#added = [];
    this.#size = saved.byteLength / 4;
    this.#numbers = new Int32Array(saved.buffer, saved.byteOffset, this.#size);
  }

  add(number: number): void {
    this.#added.push(number);
    if (this.#added.length >= takeInAtOnce) this.#takeIn();
  }

  /** Must be told while the table still has it. */
  remove(number: number): void {
    this.#takeIn();
    let at = this.#placeOf(this.#table.key(number));
    // A copied file may stand in the very same place.
    while (at < this.#size && this.#numbers[at] !== number) at++;
    if (at >= this.#size) return;
    this.#numbers.copyWithin(at, at + 1, this.#size--);
    this.#moves++;
  }

  /** All after `key` (from the start without one), in order; a slow reader misses none that stays. */
  *after(key?: OrderKey): Generator<ToolSummary> {
    this.#takeIn();
    let at = this.#placeAfter(key);
    for (let moves = this.#moves; at < this.#size; at++) {
      const summary = this.#at(at);
      yield summary;
      if (moves === this.#moves) continue;
      // A tool that was just changed is among those not yet sorted in.
      this.#takeIn();
      moves = this.#moves;
      at = this.#placeAfter(summary) - 1;
    }
  }

  #placeAfter(key: OrderKey | undefined): number {
    if (!key) return 0;
    const at = this.#placeOf(key);
    return at < this.#size && compareSummaries(this.#at(at), key) === 0 ? at + 1 : at;
  }

  #at(place: number): ToolSummary {
    return this.#table.read(this.#numbers[place] as number);
  }

  /** From the end on, so that each of the others moves at most once. */
  #takeIn(): void {
    if (this.#added.length === 0) return;
    const added = this.#added.map((number) => ({ number, key: this.#table.key(number) }));
    added.sort((a, b) => compareSummaries(a.key, b.key));
    this.#added = [];
    this.#moves++;
    let end = this.#size;
    this.#size += added.length;
    if (this.#size > this.#numbers.length) {
      const larger = new Int32Array(Math.max(1024, this.#size * 2));
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    for (let left = added.length; left > 0; left--) {
      const { number, key } = added[left - 1]!;
      const at = this.#lastPlaceOf(key, end);
      this.#numbers.copyWithin(at + left, at, end);
      this.#numbers[at + left - 1] = number;
      end = at;
    }
  }

  /** The place before `end`, searched from there backwards: tools that arrive together are usually neighbours. */
  #lastPlaceOf(key: OrderKey, end: number): number {
    let high = end;
    for (let step = 1; high > 0; step *= 2) {
      const low = Math.max(0, high - step);
      if (this.#isBefore(low, key)) return this.#placeOf(key, low + 1, high);
      high = low;
    }
    return high;
  }

  #isBefore(place: number, key: OrderKey): boolean {
    return compareSummaries(this.#table.key(this.#numbers[place] as number), key) < 0;
  }

  #placeOf(key: OrderKey, from = 0, to = this.#size): number {
    let low = from;
    let high = to;
    // Every binary search begins with the same few tools, so those are cached.
    const keptUpTo = high - low === this.#size ? keptSteps : 0;
    for (let steps = 0; low < high; steps++) {
      const middle = (low + high) >> 1;
      if (steps < keptUpTo) this.#table.get(this.#numbers[middle] as number);
      if (this.#isBefore(middle, key)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
