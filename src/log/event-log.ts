import type { Delta, EventBody, SessionEvent } from '../schema/index.ts';
import type { Bounds, Database, EventTables, StoredEvent } from '../store/index.ts';
import { Feed, type Reader } from './feed.ts';
import { follow, type Followed } from './follow.ts';

/** One transaction that stores events together with whatever belongs to them. */
export interface LogTransaction {
  db: Database;
  /** Stores an event and answers its index; outside code sees it only after the commit. */
  append(sessionId: string, turn: number, body: EventBody): number;
  /** The newest index, -1 for an empty log. */
  newest(sessionId: string): number;
  /** Removes a log; its followers end. */
  remove(sessionId: string): void;
  /** Runs when everything is on disk; never when the transaction fails. */
  afterCommit(run: () => void): void;
}

export interface FollowOptions {
  /** The last index already seen; absent starts at the oldest without a reset. */
  after?: number;
  signal: AbortSignal;
}

/** A session's durable events: append, wake, read on. */
export interface EventLog {
  /** Runs synchronously inside one write transaction; followers are woken after the commit. */
  write<T>(run: (tx: LogTransaction) => T): Promise<T>;
  append(sessionId: string, turn: number, ...bodies: EventBody[]): Promise<number>;
  /** Up to `max` events after an index. */
  read(sessionId: string, after: number, max: number): Promise<SessionEvent[]>;
  readStored(sessionId: string, after: number, max: number): Promise<StoredEvent[]>;
  /** `{oldest: 0, newest: -1}` for a log without events. */
  bounds(sessionId: string): Promise<Bounds>;
  /** Shows a piece to live readers only. */
  delta(delta: Delta): void;
  /** Everything after the cursor, then what comes, each event exactly once; ends with the signal or the log's removal. */
  follow(sessionId: string, options: FollowOptions): AsyncGenerator<Followed, void, void>;
  /** Fires after each commit with the session's newest index; for doors that only wake their clients. */
  onAppend(listener: (sessionId: string, newest: number, events: readonly StoredEvent[]) => void): () => void;
  /** Fires when another process committed something. */
  onForeignCommit(listener: () => void): () => void;
  close(): void;
}

export interface EventLogOptions {
  db: Database;
  events: EventTables;
  /** Takes secrets out before anything is stored or shown. */
  redact?: <T>(value: T) => T;
  /** How often commits of other processes are looked for. */
  pollMs?: number;
}

export function eventLog({ db, events, redact = (value) => value, pollMs = 500 }: EventLogOptions): EventLog {
  const feeds = new Map<string, Feed>();
  const appendListeners = new Set<(sessionId: string, newest: number, events: readonly StoredEvent[]) => void>();
  const foreignListeners = new Set<() => void>();
  let version = events.foreignVersion();

  const lookAround = async (): Promise<void> => {
    const now = events.foreignVersion();
    if (now === version) return;
    version = now;
    for (const listener of foreignListeners) listener();
    for (const [sessionId, feed] of feeds) {
      const bounds = await events.bounds(sessionId);
      if (bounds) feed.noticed(bounds.newest);
      else if (feed.newest >= 0) feed.remove();
    }
  };
  const timer = setInterval(() => lookAround().catch(() => {}), pollMs);
  timer.unref();

  const boundsOf = async (sessionId: string): Promise<Bounds> => (await events.bounds(sessionId)) ?? { oldest: 0, newest: -1 };

  const tell = (sessionId: string, stored: StoredEvent[]): void => {
    feeds.get(sessionId)?.push(stored);
    for (const listener of appendListeners) listener(sessionId, stored[stored.length - 1]!.index, stored);
  };

  const log: EventLog = {
    async write(run) {
      const appended = new Map<string, StoredEvent[]>();
      const removed: string[] = [];
      const after: (() => void)[] = [];
      const at = new Date().toISOString();
      const tx: LogTransaction = {
        db,
        append(sessionId, turn, body) {
          const stored = events.append(sessionId, body.type, eventTail(sessionId, turn, at, redact(body)));
          const list = appended.get(sessionId);
          if (list) list.push(stored);
          else appended.set(sessionId, [stored]);
          return stored.index;
        },
        newest: (sessionId) => events.newestNow(sessionId),
        remove(sessionId) {
          events.remove(sessionId);
          removed.push(sessionId);
        },
        afterCommit: (each) => void after.push(each),
      };
      const value = await db.write(() => run(tx));
      for (const [sessionId, stored] of appended) tell(sessionId, stored);
      for (const sessionId of removed) feeds.get(sessionId)?.remove();
      for (const each of after) each();
      return value;
    },
    append(sessionId, turn, ...bodies) {
      return log.write((tx) => bodies.reduce((_, body) => tx.append(sessionId, turn, body), -1));
    },
    async read(sessionId, after, max) {
      return (await events.read(sessionId, after, max)).map((stored) => JSON.parse(stored.json) as SessionEvent);
    },
    readStored: (sessionId, after, max) => events.read(sessionId, after, max),
    bounds: boundsOf,
    delta(delta) {
      feeds.get(delta.session_id)?.delta(redact(delta));
    },
    follow(sessionId, options) {
      return follow({
        after: options.after,
        signal: options.signal,
        bounds: () => boundsOf(sessionId),
        read: (after, max) => events.read(sessionId, after, max),
        enter: (reader) => enter(sessionId, reader),
      });
    },
    onAppend(listener) {
      appendListeners.add(listener);
      return () => appendListeners.delete(listener);
    },
    onForeignCommit(listener) {
      foreignListeners.add(listener);
      return () => foreignListeners.delete(listener);
    },
    close() {
      clearInterval(timer);
      for (const feed of feeds.values()) feed.remove();
    },
  };
  return log;

  function enter(sessionId: string, reader: Reader): { feed: Feed; leave: () => void } {
    let feed = feeds.get(sessionId);
    if (!feed) feeds.set(sessionId, (feed = new Feed()));
    feed.readers.add(reader);
    const entered = feed;
    return {
      feed: entered,
      leave: () => {
        entered.readers.delete(reader);
        if (entered.readers.size === 0 && feeds.get(sessionId) === entered) feeds.delete(sessionId);
      },
    };
  }
}

/** The event's JSON from its second member on; the index is put in front when it is known. */
function eventTail(sessionId: string, turn: number, at: string, body: EventBody): string {
  const { type, ...rest } = body;
  return `"type":"${type}","at":"${at}","session_id":"${sessionId}","turn":${turn},${JSON.stringify(rest).slice(1)}`;
}
