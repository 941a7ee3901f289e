import type { CallRecord } from '../schema/index.ts';
import type { Database } from '../store/index.ts';
import { AuditChain, entryOf, type AuditQuery } from './audit-chain.ts';
import { AuditThread } from './audit-thread.ts';
import { Behind } from './behind.ts';
import { entriesIn, WaitingEntries } from './waiting-entries.ts';
import type { WalSync } from './wal-sync.ts';

const writeReadsAfterMs = 250;
const pollMinuteMs = 60_000;
const writeAtOnce = 2048;
/** From this many at once on, writing them would hold up the event loop too long, and a thread takes over. */
const flood = 64;
const maxWaiting = 50_000;

/** Every call as one row of the chain: changes before they are answered, reads a moment later, polls once a minute. */
export class Audit {
  readonly #chain: AuditChain;
  readonly #sync: WalSync;
  readonly #behind: Behind;
  readonly #onError: (error: unknown) => void;
  readonly #openThread: () => AuditThread;
  readonly #reads = new WaitingEntries();
  readonly #polls = new Map<string, { record: CallRecord; calls: number; durationMs: number }>();
  #pollMinute = 0;
  #thread: AuditThread | undefined;

  private constructor(chain: AuditChain, { sync, onError, path, key }: AuditOptions) {
    this.#chain = chain;
    this.#sync = sync;
    this.#onError = onError;
    this.#openThread = () => new AuditThread(path, key);
    this.#behind = new Behind(writeReadsAfterMs, () => this.#writeReads(), onError);
  }

  static async open(options: AuditOptions): Promise<Audit> {
    return new Audit(await AuditChain.open(options.db, options.key), options);
  }

  /** A read, which is written a moment later. */
  addRead(record: CallRecord): void {
    if (isPoll(record)) return this.#countPoll(record);
    this.#reads.push(entryOf(record));
    if (this.#reads.size === writeAtOnce) void this.#behind.flush();
    else this.#behind.soon();
  }

  /** Resolves when the row is on disk. Never rejects: a row that cannot be written now follows with the reads. */
  async write(record: CallRecord): Promise<void> {
    const entries = [entryOf(record)];
    try {
      await this.#chain.append(entries);
      await this.#sync.written();
    } catch (error) {
      for (const entry of entries) this.#reads.push(entry);
      this.#behind.soon();
      this.#onError(error);
    }
  }

  async verify(): ReturnType<AuditChain['verify']> {
    await this.#behind.flush();
    return this.#chain.verify();
  }

  async rows(query: AuditQuery): Promise<Record<string, unknown>[]> {
    await this.#behind.flush();
    return this.#chain.rows(query);
  }

  async prune(before: string): ReturnType<AuditChain['prune']> {
    await this.#behind.flush();
    return this.#chain.prune(before);
  }

  async close(): Promise<void> {
    this.#closePolls();
    await this.#behind.flush();
    await this.#thread?.end();
  }

  #countPoll(record: CallRecord): void {
    const minute = Math.floor(Date.now() / pollMinuteMs);
    if (minute !== this.#pollMinute) this.#closePolls();
    this.#pollMinute = minute;
    const { name, principal, tokenId, projectId, sessionId, door, outcome } = record;
    const key = [name, principal, tokenId, projectId, sessionId, door, outcome].join(' ');
    const known = this.#polls.get(key);
    if (known) {
      known.calls++;
      known.durationMs += record.durationMs;
    } else {
      this.#polls.set(key, { record, calls: 1, durationMs: record.durationMs });
      // The last minute of a quiet server must not wait for the next poll.
      setTimeout(() => this.#closePolls(minute), pollMinuteMs).unref();
    }
  }

  #closePolls(minute = this.#pollMinute): void {
    if (minute !== this.#pollMinute || this.#polls.size === 0) return;
    for (const { record, calls, durationMs } of this.#polls.values())
      this.#reads.push(entryOf(record, calls, durationMs));
    this.#polls.clear();
    this.#behind.soon();
  }

  async #writeReads(): Promise<void> {
    if (this.#reads.size === 0) return;
    if (this.#reads.size >= flood) this.#thread ??= this.#openThread();
    const portions = this.#reads.take();
    try {
      if (this.#thread) await this.#thread.append(portions);
      else await this.#appendHere(portions);
    } catch (error) {
      // Tried again with the next write, within the bounds of memory.
      void this.#thread?.end();
      this.#thread = undefined;
      this.#reads.putBack(portions, maxWaiting);
      throw error;
    }
  }

  /** Like the thread's `append`: removes from the list what is written. */
  async #appendHere(portions: string[]): Promise<void> {
    for (; portions.length > 0; portions.shift()) await this.#chain.append(entriesIn(portions[0]!));
  }
}

export interface AuditOptions {
  db: Database;
  /** Where that database lies. */
  path: string;
  key: Buffer;
  sync: WalSync;
  onError: (error: unknown) => void;
}

/** Calls that clients repeat as a poll; one row a minute tells as much as hundreds. */
const polls = new Set(['session_events', 'session_list', 'project_list', 'workspace_list']);
export const isPoll = ({ name, level, parent }: CallRecord): boolean =>
  level === 'read' && parent === undefined && polls.has(name);
