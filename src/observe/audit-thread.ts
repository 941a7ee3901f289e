import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';

/** What the thread is given to begin with. */
export interface AuditThreadData {
  path: string;
  key: Uint8Array;
}

/** How many portions could not be written, and why. */
export interface AuditThreadAnswer {
  left: number;
  problem?: string;
}

/** Appends to the audit on its own thread and connection, so that a flood of calls is not slowed by its own record. */
export class AuditThread {
  readonly #worker: Worker;
  #hasEnded = false;

  constructor(path: string, key: Uint8Array) {
    this.#worker = new Worker(entryPoint('observe/audit-worker'), {
      workerData: { path, key } satisfies AuditThreadData,
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.unref();
    // A thread may fail while nobody waits for it; that must neither crash the server nor surface later.
    this.#worker.on('error', () => {});
    this.#worker.once('exit', () => (this.#hasEnded = true));
  }

  /**
   * Appends portions of entries, each of them whole or not at all, and takes out of the list what is written. One list at a
   * time: the next is handed over when the last one is answered.
   */
  async append(portions: string[]): Promise<void> {
    if (this.#hasEnded) throw new Error(endedText);
    // Pending work keeps the process alive; an idle thread does not.
    this.#worker.ref();
    this.#worker.postMessage(portions);
    try {
      const [{ left, problem }] = (await this.#answer()) as [AuditThreadAnswer];
      portions.splice(0, portions.length - left);
      if (problem !== undefined) throw new Error(problem);
    } finally {
      this.#worker.unref();
    }
  }

  async #answer(): Promise<unknown[]> {
    const over = new AbortController();
    const ended = once(this.#worker, 'exit', { signal: over.signal }).then(() => {
      throw new Error(endedText);
    });
    try {
      return await Promise.race([once(this.#worker, 'message', { signal: over.signal }), ended]);
    } finally {
      over.abort();
      ended.catch(() => {});
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

const endedText = 'the thread that writes the audit ended';
