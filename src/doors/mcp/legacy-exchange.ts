import type { Actor, CallOptions } from '../../schema/index.ts';
import type { ClientCapabilities, Exchange, JsonObject, RequestId } from './exchange.ts';
import type { LegacySession } from './legacy-session.ts';
import type { Menu } from './menu.ts';

/**
 * A request of the 2025 era being served. There is one for every call, and most are over at once: what only the slow
 * and the talkative need is made when they ask for it.
 */
export class LegacyExchange implements Exchange {
  readonly actor: Actor;
  readonly menu: Menu;
  readonly era = 'legacy';
  readonly clientCapabilities: ClientCapabilities;
  readonly progressToken: RequestId | undefined;
  readonly logLevel: string | undefined;
  readonly #session: LegacySession;
  readonly #id: RequestId;
  #signal: AbortSignal | undefined;
  #control: AbortController | undefined;
  #isCancelled = false;

  /** `signal` for a request that someone else may cancel; without, it is `cancel` that does. */
  constructor(session: LegacySession, id: RequestId, progressToken: unknown, signal?: AbortSignal) {
    this.actor = session.actor;
    this.menu = session.menu;
    this.clientCapabilities = session.clientCapabilities;
    this.progressToken = progressToken as RequestId | undefined;
    this.logLevel = session.logLevel;
    this.#session = session;
    this.#id = id;
    this.#signal = signal;
  }

  get signal(): AbortSignal {
    if (!this.#signal) {
      this.#control = new AbortController();
      this.#signal = this.#control.signal;
      if (this.#isCancelled) this.#control.abort();
    }
    return this.#signal;
  }

  get handedOn(): CallOptions['signal'] {
    return this.#signal || this.#isCancelled ? this.signal : () => this.signal;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get ask(): Exchange['ask'] {
    if (this.#session.sessionId === undefined) return undefined;
    return (method, params, stop) => this.#session.askOn(this.#id, method, params, stop);
  }

  get onSession(): Exchange['onSession'] {
    return this.#session.onSession;
  }

  notify(method: string, params: JsonObject): void {
    this.#session.tell(this.#id, { method, params, jsonrpc: '2.0' });
  }

  /** The client does not want the answer any more. */
  cancel(): void {
    this.#isCancelled = true;
    this.#control?.abort();
  }
}
