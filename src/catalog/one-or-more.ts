/** A Map of lists in which nearly every list has one entry: that entry then stands there itself. */
export class OneOrMore<T extends object> {
  readonly #entries = new Map<string, T | T[]>();

  of(key: string): readonly T[] {
    const found = this.#entries.get(key);
    return found === undefined ? [] : Array.isArray(found) ? found : [found];
  }

  add(key: string, value: T): void {
    const found = this.#entries.get(key);
    if (found === undefined) this.#entries.set(key, value);
    else if (Array.isArray(found)) found.push(value);
    else this.#entries.set(key, [found, value]);
  }

  remove(key: string, value: T): void {
    const left = this.of(key).filter((each) => each !== value);
    if (left.length === 0) this.#entries.delete(key);
    else this.#entries.set(key, left.length === 1 ? (left[0] as T) : left);
  }

  *values(): Generator<T> {
    for (const found of this.#entries.values())
      if (Array.isArray(found)) yield* found;
      else yield found;
  }
}
