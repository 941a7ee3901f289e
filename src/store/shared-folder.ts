import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import type { Created, NewFile, SharedPlace } from './file-messages.ts';
import { ProcessLock, whileBusy } from './lock.ts';
import {
  discardDraft,
  draftFiles,
  errorOf,
  moveDraft,
  placeDraft,
  syncFolders,
  type Draft,
  type Placed,
  type Refusal,
} from './new-files.ts';

/** The table in which processes tell each other, before anything moves, which paths they change. */
export const changeSteps = [
  'CREATE TABLE catalog_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL)',
  `ALTER TABLE catalog_changes ADD COLUMN name TEXT;
   ALTER TABLE catalog_changes ADD COLUMN owner TEXT;
   ALTER TABLE catalog_changes ADD COLUMN writer TEXT`,
];

interface Row {
  name: string | null;
  owner: string | null;
}

/** What was told up to now; without outcomes nothing was told or placed, because of what others told. */
interface Told {
  upTo: number;
  hasOthers: boolean;
  placed?: Map<NewFile, Placed | Refusal>;
}

type Drafted = { file: NewFile; draft: Draft };

/** Puts new files into a folder that several processes share; made for a thread that may wait for the disk and the lock. */
export class SharedFolder {
  readonly #place: SharedPlace;
  readonly #lock: ProcessLock;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(place: SharedPlace) {
    this.#place = place;
    this.#lock = new ProcessLock(place.lockPath);
    this.#db = new DatabaseSync(place.dbPath, { timeout: 0 });
    this.#db.exec('PRAGMA synchronous = NORMAL');
    // Left to other connections, which do not hold the lock meanwhile.
    this.#db.exec('PRAGMA wal_autocheckpoint = 0');
  }

  /**
   * Writes and syncs the files, then holds the lock only to tell of them and to move them. Stale when others told since
   * `since` of anything that these depend on: a change that is no new file, or the same name for another owner.
   */
  async create(files: readonly NewFile[], since: number): Promise<Created> {
    const drafts = await this.#drafted(files);
    const ready = files.flatMap((file, at) => (isDraft(drafts[at]) ? [{ file, draft: drafts[at] }] : []));
    const told = this.#placeAll(ready, since);
    if (!told.placed) return { isStale: true, upTo: told.upTo, hasOthers: true, drafts };
    const { placed } = told;
    const folders = new Set(ready.filter(({ file }) => isPlaced(placed.get(file))).map(({ file }) => dirname(file.path)));
    await syncFolders([...folders].map((folder) => join(this.#place.folder, folder)));
    const outcomes = files.map((file, at) => placed.get(file) ?? (drafts[at] as Refusal));
    return { isStale: false, upTo: told.upTo, hasOthers: told.hasOthers, outcomes };
  }

  /** Writes a file of a folder of ours, which is made when it is missing; for whoever holds the lock and told of it. */
  async replace(path: string, text: string): Promise<{ mtimeMs: number; size: number }> {
    const target = join(this.#place.folder, path);
    makeIfMissing(dirname(target));
    const [draft] = await draftFiles(this.#place.drafts, [text]);
    if (!isDraft(draft)) throw errorOf(draft!);
    moveDraft(draft, target);
    // The folder may be new, too.
    await syncFolders([dirname(target), this.#place.folder]);
    return { mtimeMs: draft.mtimeMs, size: draft.size };
  }

  #placeAll(ready: readonly Drafted[], since: number): Told {
    let isStale = false;
    try {
      const told = this.#lock.holdBlocking(() => this.#tellAndPlace(ready, since));
      isStale = !told.placed;
      return told;
    } finally {
      if (!isStale) for (const { draft } of ready) discardDraft(draft.temp);
    }
  }

  async #drafted(files: readonly NewFile[]): Promise<(Draft | Refusal)[]> {
    const texts = files.flatMap(({ from }) => (typeof from === 'string' ? [from] : []));
    const made = (await draftFiles(this.#place.drafts, texts)).values();
    return files.map(({ from }) => (typeof from === 'string' ? made.next().value! : from));
  }

  #tellAndPlace(ready: readonly Drafted[], since: number): Told {
    const { first, last } = this.#get<{ first: number | null; last: number | null }>(
      'SELECT (SELECT min(seq) FROM catalog_changes) AS first, (SELECT max(seq) FROM catalog_changes) AS last',
    );
    const others = this.#all<Row>(
      'SELECT name, owner FROM catalog_changes WHERE seq > ? AND writer IS NOT ?',
      since,
      this.#place.writer,
    );
    const owners = new Map(ready.map(({ file }) => [file.name, file.owner]));
    // Rows are numbered without a gap: where one is missing, older ones were dropped before we saw them.
    const isBroken = (first ?? 0) > since + 1;
    const isStale = isBroken || others.some(({ name, owner }) => name === null || (owners.get(name) ?? owner) !== owner);
    if (isStale) return { upTo: last ?? 0, hasOthers: true };
    const upTo = ready.length > 0 ? this.#tell(ready) : (last ?? 0);
    const placed = ready.map(({ file, draft }): [NewFile, Placed | Refusal] => [
      file,
      placeDraft(draft, join(this.#place.folder, file.path)),
    ]);
    return { upTo, hasOthers: others.length > 0, placed: new Map(placed) };
  }

  /** Answers the number of the last row. */
  #tell(ready: readonly Drafted[]): number {
    whileBusy(() => this.#statement('BEGIN IMMEDIATE').run());
    try {
      let last = 0;
      const insert = this.#statement('INSERT INTO catalog_changes (path, name, owner, writer) VALUES (?, ?, ?, ?)');
      for (const { file } of ready)
        last = Number(insert.run(file.path, file.name, file.owner, this.#place.writer).lastInsertRowid);
      this.#statement('COMMIT').run();
      return last;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #get<T>(sql: string): T {
    return whileBusy(() => this.#statement(sql).get()) as T;
  }

  #all<T>(sql: string, ...params: SQLInputValue[]): T[] {
    return whileBusy(() => this.#statement(sql).all(...params)) as T[];
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
