import { closeSync, openSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';

const turnsForMs = 1;
const shortestNapMs = 0.05;
/** Whoever holds the lock for a moment waits for the disk meanwhile: to look sooner is in vain. */
const lockNapMs = 0.1;
const longestNapMs = 1;
/** Nobody who is well holds it for so long. */
const patienceMs = 30_000;

/**
 * A lock across processes that frees itself when its holder dies: a SQLite write transaction on a file of its own.
 * Inside one process, holders take turns. A holder that was stopped keeps it: after a while the wait fails as busy.
 */
export class ProcessLock {
  readonly #db: DatabaseSync;
  readonly #take: StatementSync;
  readonly #free: StatementSync;
  readonly #patienceMs: number;
  #last: Promise<unknown> = Promise.resolve();
  /** How long was waited for it lately. */
  #usualWaitMs = 0;
  /** When somebody last waited for it in vain. */
  #gaveUpAt = -Infinity;

  constructor(path: string, patience = patienceMs) {
    this.#patienceMs = patience;
    // SQLite would make it readable by everyone, as nothing in a home is.
    closeSync(openSync(path, 'a', 0o600));
    this.#db = new DatabaseSync(path, { timeout: 0 });
    // There taking the lock costs a tenth.
    switchToWal(this.#db);
    this.#db.exec('PRAGMA synchronous = OFF');
    this.#take = this.#db.prepare('BEGIN IMMEDIATE');
    this.#free = this.#db.prepare('ROLLBACK');
  }

  /** Runs `work` while no other process or caller holds the lock; waits its turn without blocking the event loop. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    const askedAt = performance.now();
    const turn = this.#last.then(() => this.#holdNow(work, askedAt));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** The same for a thread that nobody needs meanwhile: it waits without a turn of its event loop. */
  holdBlocking<T>(work: () => T): T {
    this.#takeBlocking();
    try {
      return work();
    } finally {
      this.#free.run();
    }
  }

  /** To look costs more than to sleep: when it is held, the first look comes when it is usually free again. */
  #takeBlocking(): void {
    const askedAt = performance.now();
    whileBusy(() => this.#take.run(), Math.max(this.#usualWaitMs * 0.8, lockNapMs), lockNapMs, this.#patienceMs);
    const waitedMs = Math.min(performance.now() - askedAt, longestNapMs);
    this.#usualWaitMs += (waitedMs - this.#usualWaitMs) / 8;
  }

  async #holdNow<T>(work: () => Promise<T>, askedAt: number): Promise<T> {
    // Whoever was behind one that waited in vain has waited with it.
    await this.#begin(askedAt < this.#gaveUpAt ? 0 : this.#patienceMs);
    try {
      return await work();
    } finally {
      this.#free.run();
    }
  }

  async #begin(patience: number): Promise<void> {
    const askedAt = performance.now();
    for (let waitMs = 0.5; ;) {
      try {
        this.#take.run();
        return;
      } catch (error) {
        if (!isBusy(error)) throw error;
        if (performance.now() - askedAt >= patience) {
          this.#gaveUpAt = performance.now();
          throw error;
        }
        // Most hold it for less than the shortest sleep.
        if (performance.now() - askedAt < turnsForMs) await nextTurn();
        else {
          await sleep(waitMs * (0.5 + Math.random()));
          waitMs = Math.min(waitMs * 1.5, 8);
        }
      }
    }
  }

  async close(): Promise<void> {
    await this.#last;
    this.#db.close();
  }
}

/**
 * Tries until no other connection holds the file, in short naps that block the thread. Fails as `attempt` does otherwise,
 * or when the file is held for too long.
 */
export function whileBusy<T>(
  attempt: () => T,
  firstNapMs = shortestNapMs,
  laterNapMs = firstNapMs,
  patience = patienceMs,
): T {
  let giveUpAt: number | undefined;
  for (let napMs = firstNapMs, nextMs = laterNapMs; ; napMs = nextMs, nextMs = Math.min(nextMs * 1.5, longestNapMs))
    try {
      return attempt();
    } catch (error) {
      giveUpAt ??= performance.now() + patience;
      if (!isBusy(error) || performance.now() > giveUpAt) throw error;
      nap(napMs);
    }
}

const napping = new Int32Array(new SharedArrayBuffer(4));
const nap = (ms: number): void => void Atomics.wait(napping, 0, 0, ms);

/** Several processes may open a new file at once; SQLite lets none of two that switch it at the same moment wait. */
export function switchToWal(db: DatabaseSync): void {
  for (let left = 300; ; left--)
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || left === 0) throw error;
      // At start, before anyone is served.
      nap(5 + Math.random() * 10);
    }
}

/** True when another connection holds the file; the caller waits and tries again. */
export function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode ?? 0;
  return (code & 0xff) === 5 || (code & 0xff) === 6;
}
