import type { Entry } from './audit-chain.ts';

/** How many are written in one go. */
const portionSize = 256;

/**
 * Rows of the audit that wait to be written, as JSON texts of some hundred rows each. A flood leaves tens of thousands of
 * them waiting: as lists of values the garbage collector would move every one of them again and again.
 */
export class WaitingEntries {
  #portions: string[] = [];
  #open: Entry[] = [];
  #sealed = 0;

  /** How many wait. */
  get size(): number {
    return this.#sealed + this.#open.length;
  }

  push(entry: Entry): void {
    if (this.#open.push(entry) === portionSize) this.#seal();
  }

  /** Takes out all that wait, oldest first. */
  take(): string[] {
    this.#seal();
    const portions = this.#portions;
    this.#portions = [];
    this.#sealed = 0;
    return portions;
  }

  /** Puts back, in front, what could not be written; beyond `most` rows the rest is lost. */
  putBack(portions: readonly string[], most: number): void {
    const newer = this.take();
    this.#portions = [...portions, ...newer].slice(0, Math.ceil(most / portionSize));
    this.#sealed = this.#portions.reduce((sum, text) => sum + entriesIn(text).length, 0);
  }

  #seal(): void {
    if (this.#open.length === 0) return;
    this.#portions.push(JSON.stringify(this.#open));
    this.#sealed += this.#open.length;
    this.#open = [];
  }
}

export const entriesIn = (portion: string): Entry[] => JSON.parse(portion) as Entry[];
