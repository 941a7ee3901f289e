const renewAfter = 256;

/**
 * A Map for what comes and goes all the time and leads to much else, such as calls under way. An ordinary one links each
 * table that it has outgrown to the next: once one of them counts as old, the garbage collector takes all that passes
 * through the later ones for alive until it looks through the whole heap. This one begins anew from time to time.
 */
export class PassingMap<K, V> {
  #items = new Map<K, V>();
  #gone = 0;

  get size(): number {
    return this.#items.size;
  }

  has(key: K): boolean {
    return this.#items.has(key);
  }

  get(key: K): V | undefined {
    return this.#items.get(key);
  }

  set(key: K, value: V): void {
    this.#items.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.#items.delete(key)) return false;
    if (++this.#gone >= renewAfter) this.#renew(this.#items);
    return true;
  }

  /** Those that are there now: what is taken out while they are looked at may still be among them. */
  values(): Iterable<V> {
    return this.#items.values();
  }

  clear(): void {
    this.#renew(new Map());
  }

  #renew(items: Map<K, V>): void {
    this.#items = new Map(items);
    this.#gone = 0;
  }
}
