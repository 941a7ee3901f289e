import { Worker } from 'node:worker_threads';
import { entryPoint } from '../../entry.ts';
import { fail } from '../../schema/index.ts';
import type { dataTasks } from './data-tasks.ts';
import type { textTasks } from './text-tasks.ts';

const threads = 2;
const timeoutMs = 5000;
const idleMs = 30_000;
const maxWaiting = 200;

/** What the threads can do. */
export type Tasks = typeof textTasks & typeof dataTasks;
export type TaskArgs<K extends keyof Tasks> = Parameters<Tasks[K]>[0];
export type TaskAnswer<K extends keyof Tasks> = Awaited<ReturnType<Tasks[K]>>;

interface Job {
  task: keyof Tasks;
  args: unknown;
  signal: AbortSignal;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Runs named pure functions in threads: what users write (patterns, queries, large texts) never holds up the
 * server, and a thread that takes too long or too much memory is ended, not waited for.
 */
export class Compute {
  readonly #waiting: Job[] = [];
  readonly #idle: Thread[] = [];
  readonly #all = new Set<Thread>();
  #isClosed = false;

  /** The answer of a task. Throws tool.failed with the task's own words, tool.timeout, or tool.cancelled. */
  run<K extends keyof Tasks>(task: K, args: TaskArgs<K>, signal: AbortSignal): Promise<TaskAnswer<K>> {
    return new Promise<TaskAnswer<K>>((resolve, reject) => {
      if (this.#isClosed) return reject(fail('server.stopping'));
      if (this.#waiting.length >= maxWaiting)
        return reject(
          fail(
            'tool.failed',
            { reason: 'Too much is being computed just now. Try again in a moment.' },
            { retryable: true },
          ),
        );
      // What the thread answers is what the task of this name answers there.
      this.#waiting.push({ task, args, signal, resolve: resolve as (value: unknown) => void, reject });
      this.#next();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#waiting.splice(0)) job.reject(fail('server.stopping'));
    await Promise.all([...this.#all].map((thread) => thread.end()));
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const thread = this.#idle.pop() ?? (this.#all.size < threads ? this.#start() : undefined);
      if (!thread) return;
      const job = this.#waiting.shift() as Job;
      void thread.work(job).finally(() => {
        if (thread.isAlive) this.#idle.push(thread);
        this.#next();
      });
    }
  }

  #start(): Thread {
    const thread = new Thread(() => {
      this.#all.delete(thread);
      const at = this.#idle.indexOf(thread);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    this.#all.add(thread);
    return thread;
  }
}

type Answer = { value: unknown } | { error: string };

class Thread {
  readonly #worker: Worker;
  #resting: NodeJS.Timeout | undefined;
  isAlive = true;

  constructor(onGone: () => void) {
    this.#worker = new Worker(entryPoint('sources/builtin/compute-worker'), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 },
    });
    this.#worker.unref();
    // Told to whoever waits by `work`; without a listener it would end the process.
    this.#worker.on('error', () => {});
    this.#worker.on('exit', () => {
      this.isAlive = false;
      clearTimeout(this.#resting);
      onGone();
    });
  }

  async work(job: Job): Promise<void> {
    clearTimeout(this.#resting);
    const late = setTimeout(() => end(fail('tool.timeout', { tool: job.task, timeoutMs })), timeoutMs);
    const cancel = (): void => end(fail('tool.cancelled', { tool: job.task }));
    const gone = (): void =>
      end(fail('tool.failed', { reason: `${job.task} needed too much memory. Give it less data.` }));
    const settled = Promise.withResolvers<void>();
    const end = (error: Error): void => {
      job.reject(error);
      void this.end().then(settled.resolve);
    };
    const answered = (answer: Answer): void => {
      if ('error' in answer) job.reject(fail('tool.failed', { reason: answer.error }));
      else job.resolve(answer.value);
      settled.resolve();
    };
    this.#worker.once('message', answered).once('exit', gone);
    job.signal.addEventListener('abort', cancel, { once: true });
    if (job.signal.aborted) cancel();
    else this.#worker.postMessage({ task: job.task, args: job.args });
    await settled.promise;
    clearTimeout(late);
    this.#worker.off('message', answered).off('exit', gone);
    job.signal.removeEventListener('abort', cancel);
    this.#resting = setTimeout(() => void this.end(), idleMs).unref();
  }

  async end(): Promise<void> {
    this.isAlive = false;
    await this.#worker.terminate();
  }
}
