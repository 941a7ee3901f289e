import type { RpcError } from '../../schema/index.ts';

export type RpcAnswer = { result: unknown } | { error: RpcError };

interface OpenCall {
  answer: Promise<RpcAnswer>;
  stop: AbortController;
}

/**
 * A session's calls under ids that outlive a connection: one that is sent again finds the call that is still open,
 * or the answer that nobody could take, so that nothing runs twice.
 */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();
  readonly #keepMs: () => number;

  constructor(keepMs: () => number) {
    this.#keepMs = keepMs;
  }

  /** The open call of this id, or a new one made of `run`. */
  join(id: string, run: (signal: AbortSignal) => Promise<RpcAnswer>): Promise<RpcAnswer> {
    const known = this.#calls.get(id);
    if (known) return known.answer;
    const stop = new AbortController();
    const answer = run(stop.signal);
    this.#calls.set(id, { answer, stop });
    void answer.finally(() => setTimeout(() => this.#calls.delete(id), this.#keepMs()).unref());
    return answer;
  }

  cancel(id: string): void {
    this.#calls.get(id)?.stop.abort();
  }
}
