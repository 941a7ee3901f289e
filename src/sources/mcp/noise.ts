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
    const isTelling = (line: string): boolean => !line.includes(' [') && /error|not found|cannot/i.test(line);
    const words = this.#lines.findLast(isTelling) ?? this.#lines.at(-1);
    return words ? `${reason.slice(0, 300)}; its last words: ${words.slice(timeLength, timeLength + 300)}` : reason;
  }
}
