const empty = -1;
const removed = -2;

/** Finds the numbers that share a hash, in eight bytes each: the hashes themselves lie with the owner. */
export class HashSlots {
  readonly #hashOf: (number: number) => number;
  #slots: Int32Array;
  #filled = 0;

  constructor(hashOf: (number: number) => number, expected = 0) {
    this.#hashOf = hashOf;
    this.#slots = new Int32Array(roomFor(expected)).fill(empty);
  }

  add(number: number): void {
    if (this.#filled * 2 >= this.#slots.length) this.#rebuild();
    this.#place(number);
    this.#filled++;
  }

  remove(number: number): void {
    const mask = this.#slots.length - 1;
    for (let at = spread(this.#hashOf(number)) & mask; this.#slots[at] !== empty; at = (at + 1) & mask)
      if (this.#slots[at] === number) {
        this.#slots[at] = removed;
        return;
      }
  }

  /** Numbers whose hash this may be; whoever asks looks closer. */
  *find(hash: number): Generator<number> {
    const mask = this.#slots.length - 1;
    for (let at = spread(hash) & mask; this.#slots[at] !== empty; at = (at + 1) & mask) {
      const number = this.#slots[at] as number;
      if (number !== removed && this.#hashOf(number) === hash) yield number;
    }
  }

  #place(number: number): void {
    const mask = this.#slots.length - 1;
    let at = spread(this.#hashOf(number)) & mask;
    while (this.#slots[at] !== empty) at = (at + 1) & mask;
    this.#slots[at] = number;
  }

  /** Grows the table and drops the marks of removed entries. */
  #rebuild(): void {
    const living = this.#slots.filter((number) => number >= 0);
    this.#slots = new Int32Array(roomFor(living.length + 1)).fill(empty);
    this.#filled = living.length;
    for (const number of living) this.#place(number);
  }
}

/** A power of two with room to spare. */
function roomFor(count: number): number {
  return 2 ** Math.max(6, Math.ceil(Math.log2(Math.max(1, count) * 3)));
}

/** Not for secrets. */
export function hashOfText(text: string, seed = 0): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

const spread = (hash: number): number => (hash ^ (hash >>> 15)) >>> 0;
