import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Created, NewFile, SharedPlace } from './file-messages.ts';
import { ProcessLock, whileBusy } from './lock.ts';
import {
  discardDraft,
  draftFiles,
  errorOf,
  moveDraft,
  placeDraft,
  syncDraft,
  syncPaths,
  type Draft,
  type Placed,
  type Refusal,
} from './new-files.ts';
import { ToldByOthers, type ToldRow } from './told-by-others.ts';
import { UnsettledWrites } from './unsettled-writes.ts';

/** The table in which processes tell each other, before anything moves, which paths they change. */
export const changeSteps = [
  `CREATE TABLE catalog_changes (seq INTEGER PRIMARY KEY, path TEXT NOT NULL, name TEXT, owner TEXT, writer TEXT);
   CREATE TABLE log (id TEXT NOT NULL);
   INSERT INTO log VALUES (hex(randomblob(8)))`,
];

/** What was told up to now; without outcomes nothing was told or placed, because of what others told. */
interface Told {
  upTo: number;
  hasOthers: boolean;
  placed?: Map<NewFile, Placed | Refusal>;
  /** What is placed lasts already. */
  isKept?: boolean;
}

type Drafted = { file: NewFile; draft: Draft };

/** Puts new files into a folder that several processes share; made for a thread that may wait for the disk and the lock. */
export class SharedFolder {
  readonly #place: SharedPlace;
  readonly #lock: ProcessLock;
  readonly #db: DatabaseSync;
  readonly #unsettled: UnsettledWrites;
  readonly #others = new ToldByOthers();
  readonly #statements = new Map<string, StatementSync>();

  constructor(place: SharedPlace) {
    this.#place = place;
    this.#lock = new ProcessLock(place.lockPath);
    this.#unsettled = new UnsettledWrites(place, this.#lock);
    this.#db = new DatabaseSync(place.changesPath, { timeout: 0 });
    this.#db.exec('PRAGMA synchronous = NORMAL');
    // The lock is held meanwhile: not often, but rows are small and of no use for long.
    this.#db.exec('PRAGMA wal_autocheckpoint = 2000');
  }

  /**
   * Writes the files, then holds the lock only to tell of them, to keep them in the journal and to move them. Without room
   * there each is synced before it is moved, and its folder after. Stale when others told since `since` of anything that
   * these depend on: a change that is no new file, or the same name for another owner.
   */
  async create(files: readonly NewFile[], since: number): Promise<Created> {
    const mayKeep = this.#unsettled.mayTake(files);
    const drafts = await this.#drafted(files, !mayKeep);
    const ready = files.flatMap((file, at) => (isDraft(drafts[at]) ? [{ file, draft: drafts[at] }] : []));
    const told = this.#placeAll(ready, since, mayKeep);
    if (!told.placed) return { isStale: true, upTo: told.upTo, hasOthers: true, drafts };
    const { placed } = told;
    if (!told.isKept) {
      const folders = new Set(
        ready.filter(({ file }) => isPlaced(placed.get(file))).map(({ file }) => dirname(file.path)),
      );
      await syncPaths([...folders].map((folder) => join(this.#place.folder, folder)));
    }
    const outcomes = files.map((file, at) => placed.get(file) ?? (drafts[at] as Refusal));
    return { isStale: false, upTo: told.upTo, hasOthers: told.hasOthers, outcomes };
  }

  /** Writes a file of a folder of ours, which is made when it is missing; for whoever holds the lock and told of it. */
  async replace(path: string, text: string): Promise<{ mtimeMs: number; size: number }> {
    const target = join(this.#place.folder, path);
    makeIfMissing(dirname(target));
    const [draft] = await draftFiles(this.#place.drafts, [text], true);
    if (!isDraft(draft)) throw errorOf(draft!);
    moveDraft(draft, target);
    // The folder may be new, too.
    await syncPaths([dirname(target), this.#place.folder]);
    return { mtimeMs: draft.mtimeMs, size: draft.size };
  }

  /** From now on these paths last as they are, whatever is done to them; for whoever holds the lock. */
  settle(paths: readonly string[]): Promise<void> {
    return this.#unsettled.settle(paths);
  }

  /** Makes everything that was created last by itself. */
  settleAll(): Promise<void> {
    return this.#unsettled.settleAll();
  }

  #placeAll(ready: readonly Drafted[], since: number, mayKeep: boolean): Told {
    let isStale = false;
    try {
      const told = this.#lock.holdBlocking(() => this.#tellAndPlace(ready, since, mayKeep));
      isStale = !told.placed;
      return told;
    } finally {
      if (!isStale) for (const { draft } of ready) discardDraft(draft.temp);
    }
  }

  async #drafted(files: readonly NewFile[], isSynced: boolean): Promise<(Draft | Refusal)[]> {
    const texts = files.flatMap(({ text, draft }) => (draft ? [] : [text]));
    const made = (await draftFiles(this.#place.drafts, texts, isSynced)).values();
    return files.map(({ draft }) => draft ?? made.next().value!);
  }

  #tellAndPlace(ready: readonly Drafted[], since: number, mayKeep: boolean): Told {
    const told = this.#tell(ready, since);
    if (told.isStale) return { upTo: told.upTo, hasOthers: true };
    const target = ({ file }: Drafted): string => join(this.#place.folder, file.path);
    // Only what will be placed is kept: after a power cut the last one kept of a path is put back.
    const free = ready.filter((each) => !existsSync(target(each)));
    const isKept = mayKeep && this.#unsettled.keep(free.map(({ file }) => file));
    if (!isKept) for (const { draft } of free) syncDraft(draft);
    const placed = new Map<NewFile, Placed | Refusal>(ready.map(({ file }) => [file, false]));
    for (const each of free) placed.set(each.file, placeDraft(each.draft, target(each)));
    return { upTo: told.upTo, hasOthers: told.hasOthers, placed, isKept };
  }

  /** Tells of all files in one transaction, unless what others told stands against them. */
  #tell(ready: readonly Drafted[], since: number): { isStale: boolean; hasOthers: boolean; upTo: number } {
    whileBusy(() => this.#statement('BEGIN IMMEDIATE').run());
    try {
      const { first, last } = this.#statement(
        'SELECT (SELECT min(seq) FROM catalog_changes) AS first, (SELECT max(seq) FROM catalog_changes) AS last',
      ).get() as { first: number | null; last: number | null };
      // Most of what was told since was looked at with the files before these.
      const from = this.#others.upTo(since);
      const rows =
        from === last
          ? []
          : (this.#statement(
              'SELECT seq, name, owner FROM catalog_changes WHERE seq > ? AND writer IS NOT ? ORDER BY seq',
            ).all(from, this.#place.writer) as ToldRow[]);
      this.#others.take(rows, since, last ?? 0);
      // Rows are numbered without a gap: where one is missing, older ones were dropped before we saw them.
      const isBroken = (first ?? 0) > since + 1;
      const isStale = isBroken || this.#others.standAgainst(ready.map(({ file }) => file));
      const told = isStale ? [] : ready;
      const insert = this.#statement('INSERT INTO catalog_changes (path, name, owner, writer) VALUES (?, ?, ?, ?)');
      let upTo = last ?? 0;
      for (const { file } of told)
        upTo = Number(insert.run(file.path, file.name, file.owner, this.#place.writer).lastInsertRowid);
      this.#statement('COMMIT').run();
      this.#others.readUpTo(upTo);
      return { isStale, hasOthers: this.#others.size > 0, upTo };
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = this.#db.prepare(sql)));
    return statement;
  }
}

const isDraft = (each: Draft | Refusal | undefined): each is Draft => each !== undefined && 'temp' in each;

const isPlaced = (each: Placed | Refusal | undefined): boolean => typeof each === 'object' && 'size' in each;

function makeIfMissing(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
