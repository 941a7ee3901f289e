import { randomFillSync } from 'node:crypto';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';

const bytes = 8;

/**
 * A few bytes in a file beside a database that are others after every commit. To look at them takes a quarter of the time
 * that SQLite needs to say whether somebody else has written, and that is asked for nearly every call.
 */
export class CommitMark {
  readonly #file: number;
  /** Whose commits, drawn by lot, and how many of them: nobody ever writes the same twice. */
  readonly #mine = Buffer.alloc(bytes);
  readonly #seen = Buffer.alloc(bytes);
  readonly #now = Buffer.alloc(bytes);
  #commits = 0;

  constructor(path: string) {
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    randomFillSync(this.#mine);
  }

  /** To be called after every commit, before anybody is told of it. Where it fails, others see the commit a little later. */
  renew(): void {
    this.#mine.writeUInt32LE(++this.#commits >>> 0);
    try {
      writeSync(this.#file, this.#mine, 0, bytes, 0);
    } catch {
      // What is committed must not be told as failed.
    }
  }

  /** Whether anybody has committed since the last look. Our own commits count too: they may hide that of another. */
  isNew(): boolean {
    readSync(this.#file, this.#now, 0, bytes, 0);
    if (this.#now.equals(this.#seen)) return false;
    this.#now.copy(this.#seen);
    return true;
  }

  close(): void {
    closeSync(this.#file);
  }
}
