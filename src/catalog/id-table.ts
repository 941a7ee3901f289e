const empty = -1;
const removed = -2;

/** Finds the number of an id; a tenth of the memory of a Map, because the ids themselves lie elsewhere. */
export class IdTable {
  readonly #idOf: (number: number) => string;
  #slots = new Int32Array(1024).fill(empty);
  #filled = 0;

  constructor(idOf: (number: number) => string) {
    this.#idOf = idOf;
  }

  /** The id must not be there yet. */
  add(id: string, number: number): void {
    if (this.#filled * 2 >= this.#slots.length) this.#grow();
    this.#place(id, number);
    this.#filled++;
  }

  find(id: string): number | undefined {
    const at = this.#find(id);
    return at < 0 ? undefined : this.#slots[at];
  }

  remove(id: string): void {
    const at = this.#find(id);
    if (at >= 0) this.#slots[at] = removed;
  }

  #find(id: string): number {
    const mask = this.#slots.length - 1;
    for (let at = hashOf(id) & mask; ; at = (at + 1) & mask) {
      const number = this.#slots[at] as number;
      if (number === empty) return -1;
      if (number !== removed && this.#idOf(number) === id) return at;
    }
  }

  #place(id: string, number: number): void {
    const mask = this.#slots.length - 1;
    let at = hashOf(id) & mask;
    while ((this.#slots[at] as number) >= 0) at = (at + 1) & mask;
    this.#slots[at] = number;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Int32Array(old.length * 2).fill(empty);
    this.#filled = 0;
    for (const number of old) {
      if (number < 0) continue;
      this.#place(this.#idOf(number), number);
      this.#filled++;
    }
  }
}

function hashOf(id: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
