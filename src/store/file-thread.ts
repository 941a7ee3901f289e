import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import type { Created, FileAnswer, FileRequest, KnownFile, Looked, NewFile, SharedPlace } from './file-messages.ts';
import { errorOf } from './new-files.ts';

const endAfterMs = 10_000;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Works on many small files in a thread of its own, which may wait for the disk: a hop to the pool for every step of
 * every file would cost more than the step. It is started when it is needed and ends when it was not for a while.
 */
export class FileThread {
  readonly #place: SharedPlace;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #ending: NodeJS.Timeout | undefined;
  #numbers = 0;

  constructor(place: SharedPlace) {
    this.#place = place;
  }

  /** Puts new files into the shared folder, all in one hop; each lasts when it is answered. See SharedFolder. */
  create(files: NewFile[], since: number): Promise<Created> {
    return this.#ask({ kind: 'create', files, since }) as Promise<Created>;
  }

  /** Puts a file in its place in the shared folder, whatever is there; it lasts when it is answered. Throws when the system refuses. */
  replace(path: string, text: string): Promise<{ mtimeMs: number; size: number }> {
    return this.#ask({ kind: 'replace', path, text }) as Promise<{ mtimeMs: number; size: number }>;
  }

  /** Reads the files that are not as they were known. */
  look(files: KnownFile[]): Promise<Looked[]> {
    return this.#ask({ kind: 'look', folder: this.#place.folder, files }) as Promise<Looked[]>;
  }

  async close(): Promise<void> {
    clearTimeout(this.#ending);
    await this.#worker?.terminate();
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
      workerData: this.#place,
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
