import type { Call } from '../../schema/index.ts';

/**
 * The calls that a server is working on. Older servers ask back and log without saying for whom: such a message
 * may go only to a caller of whom it is certain, so that nothing of one principal reaches another.
 */
export class ActiveCalls {
  /** In the order in which they began. */
  readonly #calls: Call[] = [];

  add(call: Call): void {
    this.#calls.push(call);
  }

  delete(call: Call): void {
    const at = this.#calls.indexOf(call);
    if (at >= 0) this.#calls.splice(at, 1);
  }

  get size(): number {
    return this.#calls.length;
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
