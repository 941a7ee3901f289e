import { fail, Stragglers, timerMs, type CallOptions } from '../schema/index.ts';

const quickMs = 5;
const stragglers = new Stragglers<Deadline>(quickMs, (each) => each.arm());

/**
 * How long a call may take, and who may end it. Most calls are over at once: a timer and a listener are made only for
 * those that are not, and a signal only for tools that look at it.
 */
export class Deadline {
  readonly #endsAt: number;
  readonly #outer: CallOptions['signal'];
  readonly #tool: string;
  readonly #timeoutMs: number;
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #heard: AbortSignal | undefined;
  #reject: ((reason: Error) => void) | undefined;
  #reason: Error | undefined;
  #isOver = false;

  constructor(tool: string, timeoutMs: number, outer: CallOptions['signal']) {
    this.#tool = tool;
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    this.#outer = outer;
    if (typeof outer === 'object' && outer.aborted) this.#cancel();
    else if (timeoutMs <= 2 * quickMs) this.arm();
    else stragglers.add(this);
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** What ends the calls that this one makes. */
  get handedOn(): CallOptions['signal'] {
    return this.#reason ? this.signal : () => this.signal;
  }

  /** What the work answers, or a rejection as soon as it must not go on; at once where there is nothing to wait for. */
  race<T>(work: T | Promise<T>): T | Promise<T> {
    if (!(work instanceof Promise) && !this.#reason) return work;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      Promise.resolve(work).then(resolve, reject);
      if (this.#reason) reject(this.#reason);
    });
  }

  /** The call was answered, so nobody is left to hear more from its tool. */
  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    if (!this.#timer) return stragglers.drop(this);
    clearTimeout(this.#timer);
    this.#heard?.removeEventListener('abort', this);
  }

  arm(): void {
    if (this.#isOver || this.#reason) return;
    this.#heard = typeof this.#outer === 'function' ? this.#outer() : this.#outer;
    if (this.#heard?.aborted) return this.#cancel();
    this.#timer = setTimeout(() => this.#expire(), timerMs(this.#endsAt - performance.now()));
    // The server's own sockets keep it alive; a pending call must not keep it from stopping.
    this.#timer.unref();
    this.#heard?.addEventListener('abort', this, { once: true });
  }

  #expire(): void {
    this.#stop(fail('tool.timeout', { tool: this.#tool, timeoutMs: this.#timeoutMs }));
  }

  /** Whoever asked has hung up. */
  handleEvent(): void {
    this.#cancel();
  }

  #cancel(): void {
    this.#stop(fail('tool.cancelled', { tool: this.#tool }));
  }

  #stop(reason: Error): void {
    if (this.#isOver || this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#reject?.(reason);
  }
}
