/**
 * Most of what is begun is over within a moment. Timers and listeners for the case that it is not are made by `prepare`,
 * and only for what still goes on after `afterMs` (at most twice that): one timer looks after all.
 */
export class Stragglers<T> {
  readonly #afterMs: number;
  readonly #prepare: (straggler: T) => void;
  #fresh = new Set<T>();
  #older = new Set<T>();
  #isWatching = false;

  constructor(afterMs: number, prepare: (straggler: T) => void) {
    this.#afterMs = afterMs;
    this.#prepare = prepare;
  }

  add(begun: T): void {
    this.#fresh.add(begun);
    if (!this.#isWatching) this.#watch();
  }

  /** It is over. Nothing is retained: objects that live for a while cost the garbage collector most. */
  drop(done: T): void {
    if (!this.#fresh.delete(done)) this.#older.delete(done);
  }

  #watch(): void {
    this.#isWatching = true;
    setTimeout(this.#look, this.#afterMs).unref();
  }

  readonly #look = (): void => {
    const late = this.#older;
    this.#older = this.#fresh;
    this.#fresh = new Set();
    this.#isWatching = false;
    if (this.#older.size > 0) this.#watch();
    for (const each of late) this.#prepare(each);
  };
}
