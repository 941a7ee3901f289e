import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder, type Database, type Draft, type FileThread, type Placed, type ProcessLock } from '../store/index.ts';
import { bundleFileName } from './stored-files.ts';
import type { FileStamp } from './stored-records.ts';

/** One change of files, made while this process holds the catalog's lock. */
export interface Operation<T> {
  /** Every path it may touch, known beforehand: other processes are told before anything moves. */
  paths: string[];
  /** Checks against the newest state and moves the files; throws a Failure to refuse. */
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

type Change = { operation: Operation<unknown> } | { creation: Creation<unknown>; draft?: Draft };
type Queued = Change & { resolve: (value: unknown) => void; reject: (error: unknown) => void };
type QueuedCreation = Extract<Queued, { creation: unknown }>;
type QueuedOperation = Extract<Queued, { operation: unknown }>;

export interface ChangeQueueOptions {
  folder: string;
  /** Where files are written that have no place yet. */
  drafts: string;
  db: Database;
  lock: ProcessLock;
  /** Writes and syncs, and so often waits for the disk. */
  files: FileThread;
  /** Moves what is written: another thread, because the lock is held meanwhile. */
  moves: FileThread;
  /** Takes in what other processes changed; called with the lock held. */
  catchUp: () => Promise<void>;
  /** Everything up to here was announced by this process or taken in. */
  announced: (seq: number) => void;
}

const groupSize = 256;
const keptAnnouncements = 50_000;

/** Changes of the catalog's files, in groups: those that wait together share one hold of the lock, and one sync of a folder. */
export class ChangeQueue {
  readonly #options: ChangeQueueOptions;
  readonly #queue: Queued[] = [];
  readonly #lasting = new Set<Promise<void>>();
  #working: Promise<void> | undefined;
  #trimmedAt = 0;

  constructor(options: ChangeQueueOptions) {
    this.#options = options;
  }

  change<T>(operation: Operation<T>): Promise<T> {
    return this.#add({ operation });
  }

  async create<T>(creation: Creation<T>): Promise<T> {
    const { files, drafts } = this.#options;
    // A writer who is alone does all of it at once. Several write and sync before the lock is taken, so that they wait
    // for each other's move only.
    if (files.isAlone && !this.#working) return this.#add<T>({ creation });
    const draft = await files.draft(drafts, creation.text);
    try {
      return await this.#add<T>({ creation, draft });
    } catch (error) {
      await rm(draft.temp, { force: true });
      throw error;
    }
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    await this.#working;
    await Promise.all(this.#lasting);
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
    for (let at = 0; at < group.length;) {
      const together = creationsFrom(group, at);
      if (together.length > 0) await this.#place(together);
      else await this.#apply(group[at] as QueuedOperation);
      at += together.length || 1;
    }
  }

  async #apply({ operation, resolve, reject }: QueuedOperation): Promise<void> {
    try {
      const value = await operation.apply();
      const folders = new Set(operation.paths.map((path) => dirname(path)));
      // A new bundle is a new entry of the catalog's folder itself.
      if (operation.paths.some((path) => path.endsWith(`/${bundleFileName}`))) folders.add('.');
      await Promise.all([...folders].map((folder) => this.#syncIfThere(folder)));
      resolve(value);
    } catch (error) {
      reject(error);
    }
  }

  async #place(together: readonly QueuedCreation[]): Promise<void> {
    const fit = together.filter(({ creation, reject }) => {
      try {
        creation.check();
        return true;
      } catch (error) {
        reject(error);
        return false;
      }
    });
    const alone = fit.filter(({ draft }) => !draft);
    for (const each of alone) this.#answer([each], [await this.#createAlone(each.creation)], Promise.resolve());
    const drafted = fit.flatMap((each) => (each.draft ? [{ ...each, draft: each.draft }] : []));
    if (drafted.length === 0) return;
    const { folder, files, moves } = this.#options;
    const placed = await moves.place(drafted.map(({ creation, draft }) => ({ draft, path: join(folder, creation.path) })));
    const folders = new Set(drafted.filter((_, at) => isPlaced(placed[at])).map(({ creation }) => dirname(creation.path)));
    // Waited for without the lock: the next writers may go on meanwhile.
    this.#answer(drafted, placed, Promise.all([...folders].map((each) => files.sync(join(folder, each)))));
  }

  #createAlone({ text, path }: Creation<unknown>): Promise<Placed | Error> {
    const { folder, drafts, files } = this.#options;
    return files.create(drafts, text, join(folder, path)).catch((error: Error) => error);
  }

  /** Takes in what was placed, and answers when it lasts. */
  #answer(creations: readonly QueuedCreation[], outcomes: readonly (Placed | Error)[], synced: Promise<unknown>): void {
    const values = creations.map(({ creation, reject }, at) => {
      const outcome = outcomes[at];
      if (isPlaced(outcome)) return { value: creation.placed(outcome) };
      reject(outcome || creation.taken());
      return undefined;
    });
    const lasting = synced.then(
      () => creations.forEach(({ resolve }, at) => values[at] && resolve(values[at].value)),
      (error: unknown) => creations.forEach(({ reject }) => reject(error)),
    );
    this.#lasting.add(lasting);
    void lasting.then(() => this.#lasting.delete(lasting));
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
      return tx.get<{ seq: number }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;
    });
    this.#options.announced(seq);
    if (seq - this.#trimmedAt > keptAnnouncements / 10) await this.#trim(seq);
  }

  async #trim(seq: number): Promise<void> {
    this.#trimmedAt = seq;
    await this.#options.db.write((tx) => tx.run('DELETE FROM catalog_changes WHERE seq < ?', seq - keptAnnouncements));
  }
}

const isPlaced = (outcome: Placed | Error | undefined): outcome is FileStamp =>
  typeof outcome === 'object' && !(outcome instanceof Error);

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
