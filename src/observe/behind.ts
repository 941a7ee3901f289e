/** Runs a write shortly after it was asked for, together with everything that came meanwhile; never two at once. */
export class Behind {
  readonly #write: () => Promise<void>;
  readonly #delayMs: number;
  readonly #onError: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(delayMs: number, write: () => Promise<void>, onError: (error: unknown) => void) {
    this.#delayMs = delayMs;
    this.#write = write;
    this.#onError = onError;
  }

  /** Something waits to be written. */
  soon(): void {
    this.#timer ??= setTimeout(() => void this.flush(), this.#delayMs).unref();
  }

  /** Writes what waits now; resolves when it is written or has failed. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running = this.#running.then(this.#write).catch(this.#onError);
    return this.#running;
  }
}
