import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import type {
  Draft,
  FileAnswer,
  FileRequest,
  KnownFile,
  Looked,
  Placing,
  Refusal,
} from './file-messages.ts';

const draftAtOnce = 256;
const endAfterMs = 10_000;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

interface WaitingDraft {
  folder: string;
  text: string;
  resolve: (draft: Draft) => void;
  reject: (error: Error) => void;
}

/**
 * Works on many small files in a thread of its own, which may wait for the disk: a hop to the pool for every step of
 * every file would cost more than the step. It is started when it is needed and ends when it was not for a while.
 */
export class FileThread {
  readonly #waiting = new Map<number, Waiting>();
  readonly #drafts: WaitingDraft[] = [];
  #worker: Worker | undefined;
  #ending: NodeJS.Timeout | undefined;
  #numbers = 0;
  #isDrafting = false;

  /** Writes and syncs a file under a temporary name; those that wait at the same time share the disk's syncs. */
  draft(folder: string, text: string): Promise<Draft> {
    return new Promise((resolve, reject) => {
      this.#drafts.push({ folder, text, resolve, reject });
      if (!this.#isDrafting) void this.#draftAll();
    });
  }

  /**
   * Puts drafts in their places unless something is there already (then false), and syncs the folders.
   * Throws when a folder cannot be synced; a single file that is refused is told by its entry.
   */
  async place(moves: readonly Placing[], folders: readonly string[]): Promise<(boolean | Error)[]> {
    const placed = (await this.#ask({ kind: 'place', moves: [...moves], folders: [...folders] })) as (boolean | Refusal)[];
    return placed.map((each) => (typeof each === 'boolean' ? each : errorOf(each)));
  }

  /** Reads the files that are not as they were known. */
  look(folder: string, files: KnownFile[]): Promise<Looked[]> {
    return this.#ask({ kind: 'look', folder, files }) as Promise<Looked[]>;
  }

  async close(): Promise<void> {
    clearTimeout(this.#ending);
    await this.#worker?.terminate();
  }

  async #draftAll(): Promise<void> {
    this.#isDrafting = true;
    // Those that are asked for in the same turn go together.
    await Promise.resolve();
    while (this.#drafts.length > 0) {
      const some = this.#drafts.splice(0, draftAtOnce);
      try {
        const drafts = some.map(({ folder, text }) => ({ folder, text }));
        const made = (await this.#ask({ kind: 'draft', drafts })) as (Draft | Refusal)[];
        made.forEach((each, at) => ('temp' in each ? some[at]?.resolve(each) : some[at]?.reject(errorOf(each))));
      } catch (error) {
        for (const { reject } of some) reject(error as Error);
      }
    }
    this.#isDrafting = false;
  }

  #ask(request: FileRequest): Promise<unknown> {
    clearTimeout(this.#ending);
    const worker = (this.#worker ??= this.#start());
    const number = this.#numbers++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      // Held open only while somebody waits.
      worker.ref();
      worker.postMessage({ ...request, number });
    });
  }

  #start(): Worker {
    const worker = new Worker(entryPoint('store/file-worker'), {
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 },
    });
    let problem = 'it ended';
    worker.on('message', (answer: FileAnswer) => this.#answered(answer));
    worker.on('error', (error: Error) => (problem = error.message));
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      else return;
      for (const { reject } of this.#waiting.values()) reject(new Error(`the thread that writes files failed: ${problem}`));
      this.#waiting.clear();
    });
    return worker;
  }

  #answered({ number, value, error }: FileAnswer): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (this.#waiting.size === 0) this.#rest();
    if (error) waiting?.reject(errorOf(error));
    else waiting?.resolve(value);
  }

  #rest(): void {
    this.#worker?.unref();
    this.#ending = setTimeout(() => {
      const worker = this.#worker;
      this.#worker = undefined;
      void worker?.terminate();
    }, endAfterMs).unref();
  }
}

function errorOf({ code, message }: Refusal): Error {
  return Object.assign(new Error(message), { code });
}
