import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import { stampHash } from './search-docs.ts';
import type { Answer, Request, SearchWorkerData } from './search-messages.ts';
import { scan } from './search-scan.ts';
import type { RankedHit, SearchDoc, SearchHit, SearchIndex, SearchOptions, SearchSource } from './search.ts';

const compareAtOnce = 2000;
const hashAtOnce = 250;
const loadAtOnce = 500;
const maxRestarts = 3;

export interface SearchIndexOptions {
  /** `index.db`. */
  path: string;
  source?: SearchSource;
  onProblem: (reason: string) => void;
}

/** Starts the search thread. Never fails: without a thread searches read every document instead. */
export function openSearchIndex(options: SearchIndexOptions): SearchIndex {
  return new ThreadedIndex(options);
}

interface Waiting {
  request: Request;
  /** A part of a sync: the next one begins when this one has failed. */
  isOfSync: boolean;
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

class ThreadedIndex implements SearchIndex {
  readonly #options: SearchIndexOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #numbers = 0;
  #restarts = 0;
  #isClosed = false;
  /** Ids that changed while a sync was loading: what it loaded of them is older. */
  #changedMeanwhile: Set<string> | undefined;
  #synced: Promise<{ loaded: number; removed: number }> | undefined;

  #source: SearchSource;
  readonly #opened = Promise.withResolvers<number>();

  constructor(options: SearchIndexOptions) {
    this.#options = options;
    this.#source = options.source ?? { known: () => [], load: async () => [] };
    this.#start();
  }

  readFrom(source: SearchSource): void {
    this.#source = source;
  }

  opened(): Promise<number> {
    return this.#opened.promise;
  }

  sync(): Promise<{ loaded: number; removed: number }> {
    const before = this.#synced?.catch(() => {}) ?? Promise.resolve();
    this.#synced = before.then(() => this.#sync());
    // Those who wait for it hear of a failure; a sync that nobody waits for must not end the process.
    this.#synced.catch(() => {});
    return this.#synced;
  }

  async put(docs: readonly SearchDoc[]): Promise<void> {
    for (const doc of docs) this.#changedMeanwhile?.add(doc.id);
    if (this.#worker) await this.#ask({ kind: 'put', docs });
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.#changedMeanwhile?.add(id);
    if (this.#worker) await this.#ask({ kind: 'remove', ids });
  }

  async query(text: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    await this.#firstSync();
    if (!this.#worker) return this.#scan(text, options);
    return (await this.#ask({ kind: 'query', text, options })) as SearchHit[];
  }

  async rank(text: string, options: Omit<SearchOptions, 'after'> = {}): Promise<RankedHit[]> {
    await this.#firstSync();
    if (!this.#worker)
      return (await this.#scan(text, options)).map(({ id }, place) => ({ id, score: 1 / (place + 1) }));
    return (await this.#ask({ kind: 'rank', text, options })) as RankedHit[];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    if (!worker) return;
    const gone = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage({ kind: 'close', number: -1 });
    const overdue = setTimeout(() => void worker.terminate(), 3000);
    await gone;
    clearTimeout(overdue);
  }

  async #firstSync(): Promise<void> {
    if (this.#isClosed) throw new Error('the search index is closed');
    // Where the thread is started again meanwhile, another one follows.
    for (let awaited; awaited !== this.#synced || !awaited; await awaited.catch(() => {}))
      awaited = this.#synced ?? this.sync();
  }

  #start(): void {
    const worker = new Worker(entryPoint('catalog/search-worker'), {
      workerData: { path: this.#options.path } satisfies SearchWorkerData,
      // The index lies outside the heap; this bounds what a mistake could take. What is young is little, and room for more
      // of it would be kept for ever after the index was read.
      resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 3 },
    });
    worker.unref();
    this.#worker = worker;
    worker.on('message', (answer: Answer) => this.#answered(answer));
    worker.on('error', (error: Error) => this.#options.onProblem(`the search thread failed: ${error.message}`));
    worker.on('exit', () => this.#gone());
  }

  /** A thread that ends unasked is started again and filled again; what was asked of it is asked again. */
  #gone(): void {
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    if (this.#isClosed) {
      for (const each of waiting) each.reject(new Error('the search index is closed'));
      return;
    }
    if (this.#restarts++ < maxRestarts) this.#start();
    else this.#options.onProblem('the search thread does not stay up; searches read every document instead');
    const synced = this.#worker ? this.sync() : Promise.resolve();
    for (const each of waiting)
      if (each.isOfSync) each.reject(new Error('the search thread was started again'));
      else void synced.then(() => this.#again(each)).catch(each.reject);
  }

  async #again({ request, resolve }: Waiting): Promise<void> {
    if (request.kind === 'query') resolve(await this.query(request.text, request.options));
    else if (request.kind === 'rank') resolve(await this.rank(request.text, request.options));
    // The sync has told the thread of every change.
    else resolve(undefined);
  }

  #ask(request: Request, isOfSync = false): Promise<unknown> {
    const worker = this.#worker;
    if (!worker || this.#isClosed) return Promise.reject(new Error('the search index is closed'));
    const number = this.#numbers++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { request, isOfSync, resolve, reject });
      // Held open only while somebody waits.
      worker.ref();
      worker.postMessage({ ...request, number });
    });
  }

  #answered({ number, value, error, problem, isReady }: Answer): void {
    if (isReady !== undefined) this.#opened.resolve(isReady.count);
    if (problem !== undefined) this.#options.onProblem(problem);
    const waiting = number === undefined ? undefined : this.#waiting.get(number);
    if (number === undefined || !waiting) return;
    this.#waiting.delete(number);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (error === undefined) waiting.resolve(value);
    else waiting.reject(new Error(error));
  }

  async #sync(): Promise<{ loaded: number; removed: number }> {
    if (!this.#worker) return { loaded: 0, removed: 0 };
    this.#changedMeanwhile = new Set();
    try {
      const known = await this.#stamps();
      const state = (await this.#ask({ kind: 'sum' }, true)) as { count: number; sum: [number, number] };
      if (state.count === known.ids.length && state.sum[0] === known.sum[0] && state.sum[1] === known.sum[1])
        return { loaded: 0, removed: 0 };
      return await this.#repair(known);
    } finally {
      this.#changedMeanwhile = undefined;
    }
  }

  /** In slices: a hundred thousand stamps at once would hold up everything else. */
  async #stamps(): Promise<{ ids: string[]; stamps: Uint32Array; sum: [number, number] }> {
    const ids: string[] = [];
    const halves: number[] = [];
    let [a, b] = [0, 0];
    for (const { id, stamp } of this.#source.known()) {
      const [x, y] = stampHash(id, stamp);
      ids.push(id);
      halves.push(x, y);
      a = (a + x) >>> 0;
      b = (b + y) >>> 0;
      if (ids.length % hashAtOnce === 0) await nextTurn();
    }
    return { ids, stamps: Uint32Array.from(halves), sum: [a, b] };
  }

  async #repair({ ids, stamps }: { ids: string[]; stamps: Uint32Array }): Promise<{ loaded: number; removed: number }> {
    const wanted: string[] = [];
    for (let from = 0; from < ids.length; from += compareAtOnce) {
      const some = ids.slice(from, from + compareAtOnce);
      const theirs = stamps.slice(from * 2, (from + compareAtOnce) * 2);
      wanted.push(...((await this.#ask({ kind: 'compare', ids: some, stamps: theirs }, true)) as string[]));
    }
    // The source may have changed while it was read through: what seems to be gone is looked up before it is dropped.
    const unseen = (await this.#ask({ kind: 'compared' }, true)) as string[];
    const still = new Set((await this.#source.load(unseen)).map((doc) => doc.id));
    const gone = unseen.filter((id) => !still.has(id) && !this.#changedMeanwhile?.has(id));
    await this.#ask({ kind: 'remove', ids: gone }, true);
    for (let from = 0; from < wanted.length; from += loadAtOnce) {
      const docs = await this.#source.load(wanted.slice(from, from + loadAtOnce));
      await this.#ask({ kind: 'put', docs: docs.filter((doc) => !this.#changedMeanwhile?.has(doc.id)) }, true);
    }
    if (wanted.length >= loadAtOnce) await this.#ask({ kind: 'settle' }, true);
    return { loaded: wanted.length, removed: gone.length };
  }

  async #scan(text: string, options: SearchOptions): Promise<SearchHit[]> {
    const ids = Array.from(this.#source.known(), ({ id }) => id);
    const docs: SearchDoc[] = [];
    for (let from = 0; from < ids.length; from += loadAtOnce) {
      const some = await this.#source.load(ids.slice(from, from + loadAtOnce));
      // Only what matches is kept; the page is cut from those.
      const hits = new Set(scan(some, text, { ...options, after: undefined, limit: loadAtOnce }).map((hit) => hit.id));
      docs.push(...some.filter((doc) => hits.has(doc.id)));
      await nextTurn();
    }
    return scan(docs, text, options);
  }
}
