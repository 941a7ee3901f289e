import type { Call } from '../../schema/index.ts';

/**
 * The calls that a server is working on. Older servers ask back and log without saying for whom: such a message
 * may go only to a caller of whom it is certain, so that nothing of one principal reaches another.
 */
export class ActiveCalls {
  readonly #calls = new Set<Call>();

  add(call: Call): void {
    this.#calls.add(call);
  }

  delete(call: Call): void {
    this.#calls.delete(call);
  }

  get size(): number {
    return this.#calls.size;
  }

  /** The newest call, if all that run belong to one principal. */
  certain(): Call | undefined {
    let newest: Call | undefined;
    for (const call of this.#calls) {
      if (newest && newest.actor.principal !== call.actor.principal) return undefined;
      newest = call;
    }
    return newest;
  }
}
