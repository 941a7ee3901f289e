import { followChanges } from './change-feed.ts';
import type { Connection } from './connection.ts';
import type { Link } from './link.ts';

interface Followed {
  /** How many follow it. */
  count: number;
  /** How to end it on the connection of the moment. */
  asked: Promise<() => void>;
}

/**
 * The resources that clients follow: the server is asked once however many they are, and anew on every connection. It
 * outlives the connection, and goes on with another one when the configuration of the server changes.
 */
export class FollowedResources {
  connection: Connection;
  readonly #followed = new Map<string, Followed>();

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** Follows one resource until the answered function is called. Throws what the server says against it. */
  async add(uri: string): Promise<() => void> {
    let one = this.#followed.get(uri);
    if (!one) this.#followed.set(uri, (one = { count: 0, asked: this.#ask(uri) }));
    const mine = one;
    mine.count++;
    let isOver = false;
    const leave = (): void => {
      if (isOver) return;
      isOver = true;
      if (--mine.count > 0) return;
      if (this.#followed.get(uri) === mine) this.#followed.delete(uri);
      void mine.asked.then((stop) => stop()).catch(() => {});
    };
    try {
      await mine.asked;
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  /** A new connection knows nothing of them; answers what is asked for again. */
  resume(link: Link): string[] {
    for (const [uri, one] of this.#followed) {
      one.asked = this.#askOn(link, uri);
      one.asked.catch(() => {});
    }
    return [...this.#followed.keys()];
  }

  async #ask(uri: string): Promise<() => void> {
    return this.#askOn(await this.connection.ready(), uri);
  }

  /** Older servers by a subscription, newer ones by a stream that stays open. */
  async #askOn(link: Link, uri: string): Promise<() => void> {
    const { timeoutMs, noise } = this.connection;
    const isWanted = (): boolean => this.connection.link === link && !this.connection.isStopping;
    if (link.era === 'modern') {
      const feed = followChanges(
        link,
        { resourceSubscriptions: [uri] },
        {
          isWanted,
          onOpen: () => {},
          onTrouble: (error) => noise.keep(`[listen] ${error.message}`),
        },
      );
      await feed.opened.catch((error: unknown) => {
        feed.close();
        throw error;
      });
      return () => feed.close();
    }
    await link.request('resources/subscribe', { uri }, { timeoutMs });
    return () => {
      if (isWanted()) void link.request('resources/unsubscribe', { uri }, { timeoutMs }).catch(() => {});
    };
  }
}
