import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A lock across processes that frees itself when its holder dies: a SQLite write transaction on a file of its own.
 * Inside one process, holders take turns.
 */
export class ProcessLock {
  readonly #db: DatabaseSync;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { timeout: 0 });
    this.#db.exec('PRAGMA synchronous = OFF');
  }

  /** Runs `work` while no other process or caller holds the lock; waits its turn without blocking the event loop. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => this.#holdNow(work));
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #holdNow<T>(work: () => Promise<T>): Promise<T> {
    await this.#begin();
    try {
      return await work();
    } finally {
      this.#db.exec('ROLLBACK');
    }
  }

  async #begin(): Promise<void> {
    for (let waitMs = 0.5; ; waitMs = Math.min(waitMs * 1.5, 20)) {
      try {
        this.#db.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (!isBusy(error)) throw error;
        await sleep(waitMs * (0.5 + Math.random()));
      }
    }
  }

  async close(): Promise<void> {
    await this.#last;
    this.#db.close();
  }
}

/** True when another connection holds the file; the caller waits and tries again. */
export function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode ?? 0;
  return (code & 0xff) === 5 || (code & 0xff) === 6;
}
