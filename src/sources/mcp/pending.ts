import { Stragglers, timerMs, type Progress } from '../../schema/index.ts';

/** No answer within the time that was given. */
export class WireTimeout extends Error {}

export interface RequestOptions {
  timeoutMs: number;
  /** Whose call it is. Its signal is checked only when the answer takes a while; after waiting, check it before asking. */
  call?: { readonly signal?: AbortSignal; progress?(progress: Progress): void };
  headers?: Record<string, string>;
  /** Knows when the server last waited for us, which does not count as its own time. */
  waiting?: { readonly waitedAt: number };
}

const quickMs = 5;
const stragglers = new Stragglers<Pending>(quickMs, (each) => each.watch());

/** A request that waits for its answer. */
export class Pending {
  readonly #options: RequestOptions;
  readonly #resolve: (result: Record<string, unknown>) => void;
  readonly #reject: (error: Error) => void;
  readonly #giveUp: (reason: string) => void;
  #since = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #signal: AbortSignal | undefined;

  /** `giveUp` tells the server that nobody waits any more. */
  constructor(
    options: RequestOptions,
    resolve: (result: Record<string, unknown>) => void,
    reject: (error: Error) => void,
    giveUp: (reason: string) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#giveUp = giveUp;
    stragglers.add(this);
  }

  resolve(result: Record<string, unknown>): void {
    this.#end();
    this.#resolve(result);
  }

  reject(error: Error): void {
    this.#end();
    this.#reject(error);
  }

  /** From now on it ends at its deadline, or when it is cancelled. */
  watch(): void {
    this.#arm();
    this.#signal = this.#options.call?.signal;
    if (this.#signal?.aborted) return this.#cancel();
    this.#signal?.addEventListener('abort', this.#cancel, { once: true });
  }

  /** The server is still working, so its time starts again. */
  progress(progress: Progress): void {
    this.#since = performance.now();
    if (this.#timer) this.#arm();
    this.#options.call?.progress?.(progress);
  }

  #arm(): void {
    clearTimeout(this.#timer);
    const leftMs = this.#since + this.#options.timeoutMs - performance.now();
    this.#timer = setTimeout(() => this.#expire(), timerMs(leftMs));
  }

  #expire(): void {
    const { timeoutMs, waiting } = this.#options;
    const waitedAt = waiting?.waitedAt ?? -Infinity;
    if (waitedAt <= this.#since) return this.#stop(new WireTimeout(`no answer within ${timeoutMs} ms`));
    this.#since = waitedAt;
    this.#arm();
  }

  readonly #cancel = (): void => this.#stop(new DOMException('cancelled', 'AbortError'));

  #stop(error: Error): void {
    this.reject(error);
    this.#giveUp(error.message);
  }

  #end(): void {
    if (!this.#timer) return stragglers.drop(this);
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#cancel);
  }
}
