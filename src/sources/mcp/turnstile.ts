import { fail } from '../../schema/index.ts';

const longestQueue = 1_000;

/** Lets at most `size` through at a time, in order; a queue that grows without end is refused. */
export class Turnstile {
  readonly #size: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** A place inside, at once or when it is free; whoever got one gives it back by `leave`. */
  enter(what: string): Promise<void> | undefined {
    if (this.#inside < this.#size) {
      this.#inside++;
      return undefined;
    }
    if (this.#waiting.length >= longestQueue)
      throw fail('source.unreachable', { what, reason: `${longestQueue} calls are waiting already` });
    return new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#inside--;
  }
}
