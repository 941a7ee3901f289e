import type { Actor } from '../../schema/index.ts';

/** The events of agent sessions, as the room that has them hands them out. */
export interface SessionFeed {
  /**
   * Hands over every event after `after` (`newest`: only those still to come) until stopped; counts as the owner's presence.
   * Throws session.not_found for what the actor cannot see.
   */
  follow(
    actor: Actor,
    sessionId: string,
    after: number | 'newest',
    onEvent: (event: { index: number }) => void,
  ): Promise<() => void>;
}

interface Followed {
  after: number | 'newest';
  /** Set from when it is asked for until the client pauses: tells a later turn from an earlier one that is still being begun. */
  turn?: object | undefined;
  stop?: (() => void) | undefined;
}

/** The sessions that one client follows: only while it listens, and on from where it left off. */
export class Following {
  readonly #feed: SessionFeed | undefined;
  readonly #actor: () => Actor;
  readonly #onEvent: (sessionId: string, event: { index: number }) => void;
  readonly #known = new Map<string, Followed>();
  #isListening = false;

  constructor(
    feed: SessionFeed | undefined,
    actor: () => Actor,
    onEvent: (sessionId: string, event: { index: number }) => void,
  ) {
    this.#feed = feed;
    this.#actor = actor;
    this.#onEvent = onEvent;
  }

  /** Throws what the feed throws, so that a session out of reach is refused. */
  async add(sessionId: string, after: number | 'newest'): Promise<void> {
    if (this.#known.has(sessionId)) return;
    this.#known.set(sessionId, { after });
    if (this.#isListening) await this.#begin(sessionId);
  }

  remove(sessionId: string): void {
    this.#known.get(sessionId)?.stop?.();
    this.#known.delete(sessionId);
  }

  async listen(): Promise<void> {
    this.#isListening = true;
    for (const sessionId of this.#known.keys()) await this.#begin(sessionId).catch(() => {});
  }

  pause(): void {
    this.#isListening = false;
    for (const one of this.#known.values()) {
      one.stop?.();
      one.stop = one.turn = undefined;
    }
  }

  async #begin(sessionId: string): Promise<void> {
    const one = this.#known.get(sessionId);
    if (!one || one.turn || !this.#feed) return;
    const turn = (one.turn = {});
    const isMine = (): boolean => one.turn === turn && this.#known.get(sessionId) === one;
    try {
      const stop = await this.#feed.follow(this.#actor(), sessionId, one.after, (event) => {
        if (!isMine()) return;
        one.after = event.index;
        this.#onEvent(sessionId, event);
      });
      if (isMine()) one.stop = stop;
      else stop();
    } catch (error) {
      if (isMine()) this.#known.delete(sessionId);
      throw error;
    }
  }
}
