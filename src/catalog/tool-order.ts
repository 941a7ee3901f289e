import type { ToolTable } from './tool-table.ts';
import { compareSummaries, type OrderKey, type ToolSummary } from './tool-summary.ts';

const keptSteps = 7;

/** The tools of a table in list order, so that a page of a large catalog costs no sort. */
export class ToolOrder {
  readonly #table: ToolTable;
  #numbers: Int32Array = new Int32Array(1024);
  #size = 0;

  constructor(table: ToolTable) {
    this.#table = table;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes all tools of the table at once. */
  settle(): void {
    const keys = Array.from(this.#table.numbers(), (number) => {
      const { name, createdAt, id } = this.#table.read(number);
      return { name, createdAt, id, number };
    });
    keys.sort(compareSummaries);
    this.#size = keys.length;
    this.#numbers = new Int32Array(Math.max(1024, keys.length));
    keys.forEach(({ number }, at) => (this.#numbers[at] = number));
  }

  /** Good until the next change. */
  save(): Uint8Array {
    return new Uint8Array(this.#numbers.buffer, this.#numbers.byteOffset, this.#size * 4);
  }

  restore(saved: Uint8Array): void {
    this.#size = saved.byteLength / 4;
    this.#numbers = new Int32Array(saved.buffer, saved.byteOffset, this.#size);
  }

  add(number: number): void {
    if (this.#size === this.#numbers.length) {
      const larger = new Int32Array(Math.max(1024, this.#size * 2));
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    const at = this.#placeOf(this.#table.read(number));
    this.#numbers.copyWithin(at + 1, at, this.#size++);
    this.#numbers[at] = number;
  }

  /** Must be told while the table still has it. */
  remove(number: number): void {
    let at = this.#placeOf(this.#table.read(number));
    // A copied file may stand in the very same place.
    while (at < this.#size && this.#numbers[at] !== number) at++;
    if (at < this.#size) this.#numbers.copyWithin(at, at + 1, this.#size--);
  }

  /** All after `key` (from the start without one), in order. */
  *after(key?: OrderKey): Generator<ToolSummary> {
    let at = key ? this.#placeOf(key) : 0;
    if (key && at < this.#size && compareSummaries(this.#at(at), key) === 0) at++;
    for (; at < this.#size; at++) yield this.#at(at);
  }

  #at(place: number): ToolSummary {
    return this.#table.read(this.#numbers[place] as number);
  }

  #placeOf(key: OrderKey): number {
    let low = 0;
    let high = this.#size;
    // Every search begins with the same few: those are kept.
    for (let steps = 0; low < high; steps++) {
      const middle = (low + high) >> 1;
      const number = this.#numbers[middle] as number;
      const summary = steps < keptSteps ? this.#table.get(number) : this.#table.read(number);
      if (compareSummaries(summary, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
