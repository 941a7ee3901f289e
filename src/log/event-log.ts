import type { Delta, EventBody, SessionEvent } from '../schema/index.ts';
import {
  eventsOf,
  frameOf,
  type Bounds,
  type Database,
  type EventRun,
  type EventTables,
  type RedactedItems,
  type StoredEvent,
} from '../store/index.ts';
import { Feed, type Reader } from './feed.ts';
import { follow, type Followed } from './follow.ts';
import { livePieces } from './live-pieces.ts';

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
  /** Moves the log of a finished session to a file of its project; readers do not notice. */
  moveToFile(sessionId: string, projectId: string): Promise<void>;
  /** Sessions whose logs, or parts of them, lie in the table. */
  inTable(): string[];
  /** Removes files that a crash left behind. */
  sweep(): Promise<void>;
  /** Fires when another process committed something. */
  onForeignCommit(listener: () => void): () => void;
  close(): void;
}

export interface EventLogOptions {
  db: Database;
  events: EventTables;
  /** Takes secrets out before anything is stored or shown. */
  redact?: <T>(value: T) => T;
  /** The same for what is shown live and piece by piece. */
  redactPieces?: () => RedactedItems;
  /** How often commits of other processes are looked for. */
  pollMs?: number;
}

const readBytes = 256 * 1024;
const usualBytes = 256;
const maxRunLength = 64 * 1024;

/** Adds an event whose JSON is given from its second member on; answers its index. */
type AddTail = (sessionId: string, type: string, tail: string) => number;

export function eventLog({
  db,
  events,
  redact = (value) => value,
  redactPieces,
  pollMs = 500,
}: EventLogOptions): EventLog {
  const clean = redactPieces ? livePieces(redactPieces) : (_: Feed, delta: Delta) => [redact(delta)];
  const feeds = new Map<string, Feed>();
  const foreignListeners = new Set<() => void>();
  let version = db.outsideVersion();

  const lookAround = async (): Promise<void> => {
    const now = db.outsideVersion();
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

  const boundsOf = async (sessionId: string): Promise<Bounds> =>
    (await events.bounds(sessionId)) ?? { oldest: 0, newest: -1 };

  /** Appends of the same moment share one transaction and one run. */
  let gathering: { adds: ((add: AddTail) => void)[]; stored: Promise<void> } | undefined;
  const gather = (): NonNullable<typeof gathering> => {
    const adds: ((add: AddTail) => void)[] = [];
    const close = (): void => {
      if (gathering?.adds === adds) gathering = undefined;
    };
    const stored = writeTails((add) => {
      close();
      for (const each of adds) each(add);
    }).finally(close);
    return (gathering = { adds, stored });
  };

  const log: EventLog = {
    write: (run) => writeTails((_, tx) => run(tx)),
    async append(sessionId, turn, ...bodies) {
      const at = new Date().toISOString();
      const tails = bodies.map((body) => eventTail(sessionId, turn, at, redact(body)));
      let index = -1;
      const { adds, stored } = gathering ?? gather();
      adds.push((add) => tails.forEach((tail, i) => (index = add(sessionId, bodies[i]!.type, tail))));
      await stored;
      return index;
    },
    async read(sessionId, after, max) {
      return (await log.readStored(sessionId, after, max)).map((stored) => JSON.parse(stored.json) as SessionEvent);
    },
    async readStored(sessionId, after, max) {
      const found: StoredEvent[] = [];
      for (let cursor = after; ;) {
        const runs = await events.read(sessionId, cursor, Math.min(readBytes, max * usualBytes));
        if (runs.length === 0) return found;
        for (const run of runs) for (const event of eventsOf(run)) if (found.push(event) >= max) return found;
        cursor = runs[runs.length - 1]!.last;
      }
    },
    bounds: boundsOf,
    delta(delta) {
      const feed = feeds.get(delta.session_id);
      if (feed) for (const each of clean(feed, delta)) feed.delta(each);
    },
    follow(sessionId, options) {
      return follow({
        after: options.after,
        signal: options.signal,
        bounds: () => boundsOf(sessionId),
        read: (after, bytes) => events.read(sessionId, after, bytes),
        enter: (reader) => enter(sessionId, reader),
      });
    },
    moveToFile: (sessionId, projectId) => events.moveToFile(sessionId, projectId),
    inTable: () => events.inTable(),
    sweep: () => events.sweep(),
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

  async function writeTails<T>(run: (add: AddTail, tx: LogTransaction) => T): Promise<T> {
    const appended = new Map<string, RunsInTheMaking>();
    const removed: string[] = [];
    const after: (() => void)[] = [];
    const at = new Date().toISOString();
    const add: AddTail = (sessionId, type, tail) => {
      let runs = appended.get(sessionId);
      if (!runs) appended.set(sessionId, (runs = new RunsInTheMaking(events.newestNow(sessionId) + 1)));
      return runs.add(type, tail);
    };
    const tx: LogTransaction = {
      db,
      append: (sessionId, turn, body) => add(sessionId, body.type, eventTail(sessionId, turn, at, redact(body))),
      newest: (sessionId) => appended.get(sessionId)?.newest ?? events.newestNow(sessionId),
      remove(sessionId) {
        appended.delete(sessionId);
        const discardFiles = events.remove(sessionId);
        removed.push(sessionId);
        after.push(() => void discardFiles());
      },
      afterCommit: (each) => void after.push(each),
    };
    const value = await db.write(() => {
      const made = run(add, tx);
      for (const [sessionId, runs] of appended) for (const each of runs.finish()) events.append(sessionId, each);
      return made;
    });
    for (const each of after) each();
    for (const [sessionId, runs] of appended) feeds.get(sessionId)?.push(runs.finish(), runs.isRecord);
    for (const sessionId of removed) feeds.get(sessionId)?.remove();
    return value;
  }

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

const records = new Set<string>(['caller_tool_answer', 'permission_answer'] satisfies EventBody['type'][]);

/** The frames that one transaction adds to one log. */
class RunsInTheMaking {
  newest: number;
  /** Holds only what its readers did themselves. */
  isRecord = true;
  #first: number;
  #text = '';
  readonly #runs: EventRun[] = [];

  constructor(first: number) {
    this.#first = first;
    this.newest = first - 1;
  }

  add(type: string, tail: string): number {
    this.isRecord &&= records.has(type);
    this.#text += frameOf(++this.newest, type, tail);
    if (this.#text.length >= maxRunLength) this.#cut();
    return this.newest;
  }

  finish(): readonly EventRun[] {
    if (this.#text !== '') this.#cut();
    return this.#runs;
  }

  #cut(): void {
    this.#runs.push({ first: this.#first, last: this.newest, frames: Buffer.from(this.#text) });
    this.#text = '';
    this.#first = this.newest + 1;
  }
}

/** The event's JSON from its second member on; the index is put in front when it is known. */
function eventTail(sessionId: string, turn: number, at: string, body: EventBody): string {
  const { type, ...rest } = body;
  return `"type":"${type}","at":"${at}","session_id":"${sessionId}","turn":${turn},${JSON.stringify(rest).slice(1)}`;
}
