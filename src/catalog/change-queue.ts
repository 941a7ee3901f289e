import { rm } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { asFailure } from '../schema/index.ts';
import { errorOf, type Draft, type FileThread, type ProcessLock } from '../store/index.ts';
import type { ChangeLog } from './change-log.ts';
import { Gathering } from './gathering.ts';
import type { FileStamp } from './stored-records.ts';

/** One change of files, made while this process holds the catalog's lock. */
export interface Operation<T> {
  /** Every path it may touch, known beforehand: other processes are told before anything moves. */
  paths: string[];
  /** Checks against the newest state and moves the files, which lasts when it is over; throws a Failure to refuse. */
  apply(): Promise<T>;
}

/** A new file. Those that wait together are placed together. */
export interface Creation<T> {
  path: string;
  text: string;
  /** Two that share this name but not its owner do not go together: the later one must see the earlier. */
  name: string;
  owner: string;
  /** Checks against the newest state; throws a Failure to refuse. */
  check(): void;
  /** It is in its place; the answer is given when that lasts. */
  placed(stamp: FileStamp): T;
  /** Why it could not take its place: something is there. */
  taken(): Error;
}

type Change = { operation: Operation<unknown> } | { creation: Creation<unknown> };
type Queued = Change & { resolve: (value: unknown) => void; reject: (error: unknown) => void };
type QueuedCreation = Extract<Queued, { creation: unknown }> & { draft?: Draft };
type QueuedOperation = Extract<Queued, { operation: unknown }>;

export interface ChangeQueueOptions {
  log: ChangeLog;
  lock: ProcessLock;
  files: FileThread;
  /** Takes in what other processes told up to a row, all of which has happened. */
  takeIn: (upTo: number) => Promise<void>;
  /** The same, but nobody waits for it. */
  takeInLater: (upTo: number) => void;
}

/** So long after a change the next one is likely. */
const busyForMs = 50;
const groupSize = 256;
/** What one hop to the thread carries: more would hold up everybody while it is handed over. */
const groupLength = 4 * 2 ** 20;

/** Changes of the catalog's files, in groups: those that wait together share one hold of the lock, and one sync of a folder. */
export class ChangeQueue {
  readonly #options: ChangeQueueOptions;
  readonly #queue: Queued[] = [];
  readonly #gathering = new Gathering();
  #working: Promise<void> | undefined;
  #workedAt = -Infinity;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
  }

  change<T>(operation: Operation<T>): Promise<T> {
    return this.#add({ operation });
  }

  create<T>(creation: Creation<T>): Promise<T> {
    return this.#add({ creation });
  }

  /** Somebody waits for changes, or did a moment ago. */
  get isBusy(): boolean {
    return this.#working !== undefined || performance.now() - this.#workedAt < busyForMs;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#working;
  }

  #add<T>(change: Change): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ ...change, resolve: resolve as (value: unknown) => void, reject });
      // At the end of the turn: those that were asked for in the same one go together.
      this.#working ??= nextTurn().then(() => this.#work());
      this.#gathering.arrived(this.#queue.length);
    });
  }

  async #work(): Promise<void> {
    await this.#gathering.again(this.#queue.length);
    while (this.#queue.length > 0) {
      const creations = creationsAtFront(this.#queue);
      this.#queue.splice(0, creations.length);
      if (creations.length > 0) await this.#createAll(creations);
      else await this.#applyGroup();
      this.#gathering.answered(creations.length);
      const waiting = this.#queue.length;
      if (creations.length > 0 && waiting > 0)
        await this.#gathering.until(Math.min(groupSize, waiting + creations.length), waiting);
    }
    this.#working = undefined;
    this.#workedAt = performance.now();
  }

  async #applyGroup(): Promise<void> {
    let group: QueuedOperation[] = [];
    try {
      await this.#options.lock.hold(async () => {
        group = operationsAtFront(this.#queue);
        this.#queue.splice(0, group.length);
        const { log, files } = this.#options;
        await this.#options.takeIn(log.newsSince(log.seen).upTo);
        const paths = group.flatMap(({ operation }) => operation.paths);
        await log.tell(paths);
        await files.settle(paths);
        for (const each of group) await this.#apply(each);
      });
    } catch (error) {
      if (group.length === 0) this.#queue.splice(0, (group = operationsAtFront(this.#queue)).length);
      for (const each of group) each.reject(error);
      this.#giveUpIfLocked(error);
    }
  }

  async #apply({ operation, resolve, reject }: QueuedOperation): Promise<void> {
    try {
      resolve(await operation.apply());
    } catch (error) {
      reject(error);
    }
  }

  /** Checked here, made in the thread. When others changed meanwhile what was checked, both are done again. */
  async #createAll(creations: readonly QueuedCreation[]): Promise<void> {
    try {
      for (let left = creations; left.length > 0;)
        left = await this.#createFit(left.filter((each) => this.#isFit(each)));
    } catch (error) {
      for (const { reject } of creations) reject(error);
      this.#giveUpIfLocked(error);
    }
  }

  /** Whoever came while a group waited in vain for the lock is told so, too: else each group would wait as long again. */
  #giveUpIfLocked(error: unknown): void {
    if (asFailure(error).code !== 'home.locked') return;
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }

  /** Answers those that must be tried again. */
  async #createFit(fit: readonly QueuedCreation[]): Promise<QueuedCreation[]> {
    if (fit.length === 0) return [];
    const { files, log, takeIn, takeInLater } = this.#options;
    const asked = fit.map(({ creation: { path, name, owner, text }, draft }) => ({ path, name, owner, text, draft }));
    const made = await files.create(asked, log.seen);
    if (made.isStale) {
      await takeIn(made.upTo);
      return fit.flatMap((each, at) => {
        const draft = made.drafts[at]!;
        if ('temp' in draft) return [{ ...each, draft }];
        each.reject(errorOf(draft));
        return [];
      });
    }
    fit.forEach(({ creation, resolve, reject }, at) => {
      const outcome = made.outcomes[at]!;
      if (outcome && 'size' in outcome) resolve(creation.placed(outcome));
      else reject(outcome ? errorOf(outcome) : creation.taken());
    });
    if (made.hasOthers) takeInLater(made.upTo);
    else log.saw(made.upTo);
    await log.trim(made.upTo);
    return [];
  }

  #isFit({ creation, draft, reject }: QueuedCreation): boolean {
    try {
      creation.check();
      return true;
    } catch (error) {
      reject(error);
      if (draft) void rm(draft.temp, { force: true }).catch(() => {});
      return false;
    }
  }
}

/** The creations at the front that may be made at once. */
function creationsAtFront(queue: readonly Queued[]): QueuedCreation[] {
  const together: QueuedCreation[] = [];
  const paths = new Set<string>();
  const owners = new Map<string, string>();
  let length = 0;
  for (const each of queue) {
    if (!('creation' in each) || together.length === groupSize || length >= groupLength) break;
    const { path, name, owner, text } = each.creation;
    length += text.length;
    if (paths.has(path) || (owners.get(name) ?? owner) !== owner) break;
    paths.add(path);
    owners.set(name, owner);
    together.push(each);
  }
  return together;
}

function operationsAtFront(queue: readonly Queued[]): QueuedOperation[] {
  const end = queue.findIndex((each) => !('operation' in each));
  return queue.slice(0, Math.min(groupSize, end < 0 ? groupSize : end)) as QueuedOperation[];
}
