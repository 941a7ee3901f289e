const kept = 200;
const timeLength = 25;

/** The last lines that a server wrote to stderr, and what went wrong on its connection. */
export class Noise {
  readonly #lines: string[] = [];

  get lines(): readonly string[] {
    return this.#lines;
  }

  keep(line: string): void {
    this.#lines.push(`${new Date().toISOString()} ${line}`);
    if (this.#lines.length > kept) this.#lines.shift();
  }

  /** What a dying process printed says more than that it is gone. */
  explain(reason: string): string {
    if (!/closed|ended/i.test(reason)) return reason.slice(0, 500);
    const printed = this.#lines.map((line) => line.slice(timeLength)).filter((line) => !isOurs(line));
    const words = printed.findLast((line) => /error|not found|cannot|no such/i.test(line)) ?? printed.at(-1);
    return words ? `${reason.slice(0, 300)}; its last words: ${words.slice(0, 300)}` : reason;
  }
}

/** Our own remarks among the lines: `[connect] ..`. */
const isOurs = (line: string): boolean => /^\[(connect|connection|listen|tools\/list)\] /.test(line);
