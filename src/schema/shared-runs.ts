/**
 * Work that many may ask for at once. Whoever asks while a run is under way shares the one after it with all others who
 * do: each gets the outcome of a run that began after it asked, and there is never more than one at a time.
 */
export class SharedRuns<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<T> | undefined;
  #next: Promise<T> | undefined;

  constructor(work: () => Promise<T>) {
    this.#work = work;
  }

  /** Fails as the work does, for those alone who share that run. */
  run(): Promise<T> {
    if (this.#next) return this.#next;
    if (!this.#running) return this.#begin();
    return (this.#next = this.#running.then(this.#begin, this.#begin));
  }

  /** Resolves when what is under way now is over, well or not. */
  async idle(): Promise<void> {
    await this.#running?.catch(() => {});
  }

  readonly #begin = (): Promise<T> => {
    this.#next = undefined;
    return (this.#running = this.#work().finally(() => {
      this.#running = undefined;
    }));
  };
}
