import type { Call } from '../../schema/index.ts';

/** A caller that waits for a server, as far as the server may deal with it meanwhile. */
export interface ActiveCall extends Pick<Call, 'askClient' | 'relayLog'> {
  readonly actor: { readonly principal: string };
}

/** How long a server that was told to stop may still be working. */
const lingerMs = 60_000;

/**
 * The calls that a server is working on. Older servers ask back and log without saying for whom: such a message
 * may go only to a caller of whom it is certain, so that nothing of one principal reaches another.
 */
export class ActiveCalls {
  /** In the order in which they began. */
  readonly #calls: ActiveCall[] = [];
  /** Until when a server may still speak of what a principal has given up. */
  readonly #givenUp = new Map<string, number>();
  #questions = 0;
  #answeredAt = -Infinity;

  add(call: ActiveCall): void {
    this.#calls.push(call);
  }

  delete(call: ActiveCall): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
  }

  /** Nobody waits for this call any more; the server was told, but may not have stopped. */
  giveUp({ actor }: ActiveCall): void {
    this.#givenUp.set(actor.principal, performance.now() + lingerMs);
  }

  /** The server knows nothing of earlier calls. */
  forget(): void {
    this.#givenUp.clear();
  }

  /** True when nothing that the server says now can belong to a call. */
  get isIdle(): boolean {
    return this.#calls.length === 0 && this.#lingering().length === 0;
  }

  /** The newest call, if all that run belong to one principal. */
  certain(): ActiveCall | undefined {
    const newest = this.#calls.at(-1);
    const principals = [...this.#calls.map(({ actor }) => actor.principal), ...this.#lingering()];
    return principals.every((each) => each === newest?.actor.principal) ? newest : undefined;
  }

  /** Asks whoever is behind a call. Whose call the server means is not certain, so no call runs out of time meanwhile. */
  async ask(call: ActiveCall, method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    this.#questions++;
    try {
      return await call.askClient(method, params, signal);
    } finally {
      this.#questions--;
      this.#answeredAt = performance.now();
    }
  }

  /** When the server last waited for us, by `performance.now()`. */
  get waitedAt(): number {
    return this.#questions > 0 ? performance.now() : this.#answeredAt;
  }

  #lingering(): string[] {
    if (this.#givenUp.size === 0) return [];
    const now = performance.now();
    for (const [principal, until] of this.#givenUp) if (until < now) this.#givenUp.delete(principal);
    return [...this.#givenUp.keys()];
  }
}
