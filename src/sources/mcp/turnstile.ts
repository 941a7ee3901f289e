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

  async run<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#inside >= this.#size) {
      if (this.#waiting.length >= longestQueue)
        throw fail('source.unreachable', { what, reason: `${longestQueue} calls are waiting already` });
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#inside++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside--;
    }
  }
}
