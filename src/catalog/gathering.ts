const momentMs = 3;
/** So often in a row nobody came: they do not ask again at once. */
const patience = 4;
/** Then only every so many times, to notice when they do. */
const rarely = 32;

/**
 * Lets changes go together that would else go one after the other: whoever was answered and asks again at once is waited
 * for by those who came meanwhile. A group costs hardly more than a single change.
 */
export class Gathering {
  #wanted = Infinity;
  #go: (() => void) | undefined;
  #inVain = 0;
  #answered = 0;
  #answeredAt = 0;

  /** So many were answered together: most likely they ask again. */
  answered(count: number): void {
    this.#answered = count;
    this.#answeredAt = performance.now();
  }

  /** Resolves when those who were answered a moment ago are here again, of whom so many are. */
  async again(waiting: number): Promise<void> {
    if (performance.now() - this.#answeredAt < momentMs) await this.until(this.#answered, waiting);
  }

  /** Resolves when as many wait as are wanted, or after a moment; at once when waiting was in vain lately. */
  async until(wanted: number, waiting: number): Promise<void> {
    if (waiting >= wanted || (this.#inVain >= patience && this.#inVain++ % rarely !== 0)) return;
    const isWhole = await new Promise<boolean>((resolve) => {
      const over = setTimeout(() => resolve(false), momentMs);
      this.#wanted = wanted;
      this.#go = () => {
        clearTimeout(over);
        // At the end of the turn: more may come in the same one.
        setImmediate(() => resolve(true));
      };
    });
    this.#go = undefined;
    this.#inVain = isWhole ? 0 : this.#inVain + 1;
  }

  /** So many wait now. */
  arrived(waiting: number): void {
    if (waiting < this.#wanted) return;
    this.#go?.();
    this.#go = undefined;
  }
}
