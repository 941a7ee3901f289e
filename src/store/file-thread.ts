import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import type {
  Draft,
  FileAnswer,
  FileRequest,
  KnownFile,
  Looked,
  Placed,
  Refusal,
} from './file-messages.ts';

const draftAtOnce = 256;
const aloneAfter = 8;
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

interface Syncs {
  running: Promise<void>;
  next?: Promise<void>;
}

/**
 * Works on many small files in a thread of its own, which may wait for the disk: a hop to the pool for every step of
 * every file would cost more than the step. It is started when it is needed and ends when it was not for a while.
 */
export class FileThread {
  readonly #waiting = new Map<number, Waiting>();
  readonly #drafts: WaitingDraft[] = [];
  readonly #syncs = new Map<string, Syncs>();
  #worker: Worker | undefined;
  #ending: NodeJS.Timeout | undefined;
  #numbers = 0;
  #isDrafting = false;
  /** Asks in a row that found nobody waiting. */
  #aloneFor = 0;

  /** Writes and syncs a file under a temporary name; those that wait at the same time share the disk's syncs. */
  draft(folder: string, text: string): Promise<Draft> {
    return new Promise((resolve, reject) => {
      this.#drafts.push({ folder, text, resolve, reject });
      if (!this.#isDrafting) void this.#draftAll();
    });
  }

  /** Puts drafts in their places unless something is there already (then false); `sync` makes that last. */
  async place(moves: readonly { draft: Draft; path: string }[]): Promise<(Placed | Error)[]> {
    const asked = moves.map(({ draft, path }) => ({ from: draft, path }));
    return ((await this.#ask({ kind: 'place', moves: asked })) as (Placed | Refusal)[]).map(outcome);
  }

  /** Makes what was placed in a folder last; those that ask at the same time share one sync. Throws when the disk refuses. */
  sync(folder: string): Promise<void> {
    const known = this.#syncs.get(folder);
    if (known?.next) return known.next;
    const run = async (): Promise<void> => void (await this.#ask({ kind: 'sync', folders: [folder] }));
    if (!known) {
      const entry: Syncs = { running: run() };
      this.#syncs.set(folder, entry);
      void this.#afterSync(folder, entry);
      return entry.running;
    }
    // The one that runs may have begun before the last file was placed: share the one after it.
    known.next = known.running.catch(() => {}).then(run);
    return known.next;
  }

  async #afterSync(folder: string, entry: Syncs): Promise<void> {
    await entry.running.catch(() => {});
    if (!entry.next) return void this.#syncs.delete(folder);
    const next: Syncs = { running: entry.next };
    this.#syncs.set(folder, next);
    await this.#afterSync(folder, next);
  }

  /** All of it for one file in one go: the least for a writer who is alone. */
  async create(drafts: string, text: string, path: string): Promise<Placed | Error> {
    const move = { from: { folder: drafts, text }, path };
    return outcome((await this.#ask({ kind: 'create', move, syncFolder: dirname(path) })) as Placed | Refusal);
  }

  /** True while one at a time asks for something. */
  get isAlone(): boolean {
    return this.#waiting.size === 0 && this.#aloneFor >= aloneAfter;
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
    this.#aloneFor = this.#waiting.size === 0 ? this.#aloneFor + 1 : 0;
    const isAlone = this.#aloneFor >= aloneAfter;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      // Held open only while somebody waits.
      worker.ref();
      worker.postMessage({ ...request, number, isAlone });
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

const outcome = (each: Placed | Refusal): Placed | Error => (each && 'code' in each ? errorOf(each) : each);

function errorOf({ code, message }: Refusal): Error {
  return Object.assign(new Error(message), { code });
}
