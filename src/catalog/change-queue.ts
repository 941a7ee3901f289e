import { dirname, join } from 'node:path';
import { syncFolder, type Database, type Draft, type FileThread, type ProcessLock } from '../store/index.ts';
import { bundleFileName } from './stored-files.ts';

/** One change of files, made while this process holds the catalog's lock. */
export interface Operation<T> {
  /** Every path it may touch, known beforehand: other processes are told before anything moves. */
  paths: string[];
  /** Checks against the newest state and moves the files; throws a Failure to refuse. */
  apply(): Promise<T>;
}

/** A new file, drafted before the lock is taken. Those that wait together are placed together. */
export interface Creation<T> {
  path: string;
  draft: Draft;
  /** Two that share this name but not its owner do not go together: the later one must see the earlier. */
  name: string;
  owner: string;
  /** Checks against the newest state; throws a Failure to refuse. */
  check(): void;
  /** It is in its place, for good. */
  placed(): T;
  /** Why it could not take its place: something is there. */
  taken(): Error;
}

type Change = { operation: Operation<unknown> } | { creation: Creation<unknown> };
type Queued = Change & { resolve: (value: unknown) => void; reject: (error: unknown) => void };
type QueuedCreation = Extract<Queued, { creation: unknown }>;

export interface ChangeQueueOptions {
  folder: string;
  db: Database;
  lock: ProcessLock;
  files: FileThread;
  /** Takes in what other processes changed; called with the lock held. */
  catchUp: () => Promise<void>;
  /** Everything up to here was announced by this process or taken in. */
  announced: (seq: number) => void;
}

const groupSize = 256;
const keptAnnouncements = 50_000;

/** Changes of the catalog's files, in groups: those that wait together share one hold of the lock and one sync of each folder. */
export class ChangeQueue {
  readonly #options: ChangeQueueOptions;
  readonly #queue: Queued[] = [];
  #working: Promise<void> | undefined;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
  }

  change<T>(operation: Operation<T>): Promise<T> {
    return this.#add({ operation });
  }

  create<T>(creation: Creation<T>): Promise<T> {
    return this.#add({ creation });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#working;
  }

  #add<T>(change: Change): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ ...change, resolve: resolve as (value: unknown) => void, reject });
      this.#working ??= Promise.resolve().then(() => this.#work());
    });
  }

  async #work(): Promise<void> {
    await this.#workGroups();
    this.#working = undefined;
    // A change that came while the last group was being answered found this work still set.
    if (this.#queue.length > 0) await (this.#working ??= this.#work());
  }

  async #workGroups(): Promise<void> {
    while (this.#queue.length > 0) {
      let group: Queued[] = [];
      try {
        await this.#options.lock.hold(async () => {
          group = this.#queue.splice(0, groupSize);
          await this.#applyGroup(group);
        });
      } catch (error) {
        for (const each of group.length > 0 ? group : this.#queue.splice(0)) each.reject(error);
      }
    }
  }

  async #applyGroup(group: readonly Queued[]): Promise<void> {
    await this.#options.catchUp();
    await this.#announce(group.flatMap((each) => ('creation' in each ? [each.creation.path] : each.operation.paths)));
    const folders = new Set<string>();
    const settle: (() => void)[] = [];
    for (let at = 0; at < group.length;) {
      const together = creationsFrom(group, at);
      if (together.length > 0) await this.#place(together, settle);
      else await this.#apply(group[at] as Queued & { operation: Operation<unknown> }, folders, settle);
      at += together.length || 1;
    }
    await Promise.all([...folders].map((folder) => this.#syncIfThere(folder)));
    for (const each of settle) each();
  }

  async #apply(
    { operation, resolve, reject }: Queued & { operation: Operation<unknown> },
    folders: Set<string>,
    settle: (() => void)[],
  ): Promise<void> {
    try {
      const value = await operation.apply();
      for (const path of operation.paths) folders.add(dirname(path));
      // A new bundle is a new entry of the catalog's folder itself.
      if (operation.paths.some((path) => path.endsWith(`/${bundleFileName}`))) folders.add('.');
      settle.push(() => resolve(value));
    } catch (error) {
      settle.push(() => reject(error));
    }
  }

  async #place(together: readonly QueuedCreation[], settle: (() => void)[]): Promise<void> {
    const { folder, files } = this.#options;
    const fit = together.filter(({ creation, reject }) => {
      try {
        creation.check();
        return true;
      } catch (error) {
        settle.push(() => reject(error));
        return false;
      }
    });
    if (fit.length === 0) return;
    const moves = fit.map(({ creation }) => ({ temp: creation.draft.temp, path: join(folder, creation.path) }));
    const placed = await files.place(moves, [...new Set(moves.map(({ path }) => dirname(path)))]);
    fit.forEach(({ creation, resolve, reject }, at) => {
      const outcome = placed[at];
      if (outcome === true) {
        const value = creation.placed();
        settle.push(() => resolve(value));
      } else settle.push(() => reject(outcome === false ? creation.taken() : outcome));
    });
  }

  async #syncIfThere(folder: string): Promise<void> {
    await syncFolder(join(this.#options.folder, folder)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  /** Tells other processes before anything moves, so that a holder who dies in between hides nothing from them. */
  async #announce(paths: string[]): Promise<void> {
    const seq = await this.#options.db.write((tx) => {
      for (const path of paths) tx.run('INSERT INTO catalog_changes (path) VALUES (?)', path);
      const last = tx.get<{ seq: number }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;
      tx.run('DELETE FROM catalog_changes WHERE seq < ?', last - keptAnnouncements);
      return last;
    });
    this.#options.announced(seq);
  }
}

/** The creations from a place on that may be placed at once. */
function creationsFrom(group: readonly Queued[], from: number): QueuedCreation[] {
  const together: QueuedCreation[] = [];
  const paths = new Set<string>();
  const owners = new Map<string, string>();
  for (const each of group.slice(from)) {
    if (!('creation' in each)) break;
    const { path, name, owner } = each.creation;
    if (paths.has(path) || (owners.get(name) ?? owner) !== owner) break;
    paths.add(path);
    owners.set(name, owner);
    together.push(each);
  }
  return together;
}
