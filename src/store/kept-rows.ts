import type { Database } from './sqlite.ts';

const maxKept = 1000;

/**
 * Rows that are asked for again and again, read and parsed once. Whoever changes a row forgets it here; what another
 * process commits makes all of them forgotten. Inside a Writer nothing is kept: it may be undone.
 */
export class KeptRows<T extends object> {
  readonly #db: Database;
  readonly #read: (key: string) => T | undefined;
  readonly #kept = new Map<string, T>();
  #version = -1;

  constructor(db: Database, read: (key: string) => T | undefined) {
    this.#db = db;
    this.#read = read;
  }

  /** Frozen: several share it. */
  get(key: string): Readonly<T> | undefined {
    if (this.#db.isWriting) return this.#read(key);
    const version = this.#db.outsideVersion();
    if (version !== this.#version) this.#kept.clear();
    this.#version = version;
    const known = this.#kept.get(key);
    if (known) return known;
    const row = this.#read(key);
    if (!row) return undefined;
    if (this.#kept.size >= maxKept) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(key, deepFreeze(row));
    return row;
  }

  forget(key: string): void {
    this.#kept.delete(key);
  }

  forgetAll(): void {
    this.#kept.clear();
  }
}

function deepFreeze<T extends object>(value: T): T {
  for (const each of Object.values(value)) if (typeof each === 'object' && each !== null) deepFreeze(each as object);
  return Object.freeze(value);
}
