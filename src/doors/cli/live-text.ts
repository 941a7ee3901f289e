import { harmless } from './output.ts';

/**
 * Words of the agent as they come. Pieces may be missing, because only what is stored is certain: when the whole
 * message arrives, what was not shown yet is shown, or all of it again.
 */
export class LiveText {
  readonly #write: (text: string) => void;
  #shown = '';

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  piece(text: string): void {
    const safe = harmless(text);
    this.#shown += safe;
    this.#write(safe);
  }

  /** The whole message: afterwards it is on the screen, and the line is ended. */
  finish(message: string): void {
    const whole = harmless(message);
    if (this.#shown === '') this.#write(`${whole}\n`);
    else if (whole.startsWith(this.#shown)) this.#write(`${whole.slice(this.#shown.length)}\n`);
    else this.#write(`\n${whole}\n`);
    this.#shown = '';
  }

  /** Something else is about to be printed. */
  interrupt(): void {
    if (this.#shown !== '' && !this.#shown.endsWith('\n')) this.#write('\n');
  }
}
