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

/** The sessions that one client follows: only while it listens, and on from where it left off. */
export class Following {
  readonly #feed: SessionFeed | undefined;
  readonly #actor: () => Actor;
  readonly #onEvent: (sessionId: string, event: { index: number }) => void;
  readonly #known = new Map<string, { after: number | 'newest'; stop?: () => void }>();
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
      one.stop = undefined;
    }
  }

  async #begin(sessionId: string): Promise<void> {
    const one = this.#known.get(sessionId);
    if (!one || one.stop || !this.#feed) return;
    one.stop = () => {};
    try {
      const stop = await this.#feed.follow(this.#actor(), sessionId, one.after, (event) => {
        one.after = event.index;
        this.#onEvent(sessionId, event);
      });
      if (this.#isListening && this.#known.get(sessionId) === one) one.stop = stop;
      else stop();
    } catch (error) {
      this.#known.delete(sessionId);
      throw error;
    }
  }
}
