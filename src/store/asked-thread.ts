import type { Worker } from 'node:worker_threads';
import { PassingMap } from '../schema/index.ts';
import { errorOf, type Refusal } from './new-files.ts';

const endAfterMs = 10_000;

/** A thread's answer to the request with that number. */
export interface ThreadAnswer {
  number: number;
  value?: unknown;
  error?: Refusal;
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** A thread that starts on the first request and ends when it has been idle for a while. */
export class AskedThread<Request extends object> {
  readonly #startWorker: () => Worker;
  readonly #what: string;
  readonly #waiting = new PassingMap<number, Waiting>();
  #worker: Worker | undefined;
  #ending: NodeJS.Timeout | undefined;
  #numbers = 0;

  /** `what` names it in errors: "the thread that writes files". */
  constructor(what: string, startWorker: () => Worker) {
    this.#what = what;
    this.#startWorker = startWorker;
  }

  /** Fails as the thread says, or when it ends without an answer. */
  ask(request: Request): Promise<unknown> {
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

  async close(): Promise<void> {
    clearTimeout(this.#ending);
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = this.#startWorker();
    let problem = 'it ended';
    worker.on('message', (answer: ThreadAnswer) => this.#answered(answer));
    worker.on('error', (error: Error) => (problem = error.message));
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      else return;
      for (const { reject } of this.#waiting.values()) reject(new Error(`${this.#what} failed: ${problem}`));
      this.#waiting.clear();
    });
    return worker;
  }

  #answered({ number, value, error }: ThreadAnswer): void {
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
