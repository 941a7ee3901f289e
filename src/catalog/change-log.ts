import { randomUUID } from 'node:crypto';
import { changeSteps, Database } from '../store/index.ts';
import { beginningAnew } from './damaged-file.ts';

const keptRows = 50_000;

/** What other processes reported since the last look. */
export interface News {
  /** Files that they made. */
  made: Set<string>;
  /** Files that they changed or removed, whoever made them. */
  changed: Set<string>;
  /** The last row there is, of whomever. */
  upTo: number;
  /** Older rows were dropped before they were seen: anything may have changed. */
  isBroken: boolean;
}

/** Where the processes that share the catalog tell each other what they change, and how much of it this one has taken in. */
export class ChangeLog {
  /** Under which name this process tells. */
  readonly writer = randomUUID();
  /** A different value means that the file was made anew, with rows numbered from one again. */
  readonly id: string;
  readonly #db: Database;
  #seen: number;
  #trimmedAt = 0;
  /** What others told lately, in the order of the rows, and up to which row that was looked up. */
  readonly #lately = new Map<string, number>();
  #latest = 0;

  /** In a file of its own, which is small: nobody who keeps rows of another has to read them again for what is told here. */
  static open(path: string): Promise<ChangeLog> {
    return beginningAnew(path, async () => {
      const db = new Database(path);
      await db.migrate('catalog_changes', changeSteps);
      return new ChangeLog(db);
    });
  }

  private constructor(db: Database) {
    this.#db = db;
    this.id = db.get<{ id: string }>('SELECT id FROM log')!.id;
    this.#seen = db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;
  }

  /** Up to here, everything that was told is in the records. */
  get seen(): number {
    return this.#seen;
  }

  saw(seq: number): void {
    this.#seen = Math.max(this.#seen, seq);
  }

  /** What others told since `from`, which is told before it happens: only under the lock it has happened. */
  newsSince(from: number): News {
    const { first, last } = this.#db.get<{ first: number | null; last: number | null }>(
      'SELECT (SELECT min(seq) FROM catalog_changes) AS first, (SELECT max(seq) FROM catalog_changes) AS last',
    )!;
    const rows = this.#db.all<{ path: string; isNew: number }>(
      'SELECT path, name IS NOT NULL AS isNew FROM catalog_changes WHERE seq > ? AND writer IS NOT ?',
      from,
      this.writer,
    );
    const news = { made: new Set<string>(), changed: new Set<string>() };
    for (const { path, isNew } of rows) news[isNew ? 'made' : 'changed'].add(path);
    // Rows are numbered without a gap.
    return { ...news, upTo: last ?? from, isBroken: (first ?? 0) > from + 1 };
  }

  /** Whether others told of a path since `from`, which may only grow; to be asked at once. */
  toldSince(from: number): { has(path: string): boolean } {
    const rows = this.#db.all<{ seq: number; path: string }>(
      'SELECT seq, path FROM catalog_changes WHERE seq > ? AND writer IS NOT ? ORDER BY seq',
      Math.max(from, this.#latest),
      this.writer,
    );
    for (const { seq, path } of rows) {
      this.#lately.delete(path);
      this.#lately.set(path, seq);
      this.#latest = seq;
    }
    for (const [path, seq] of this.#lately)
      if (seq <= from) this.#lately.delete(path);
      else break;
    return this.#lately;
  }

  /** Everything that was told after a row that is still there; undefined when that one is not. */
  pathsAfter(seq: number): Set<string> | undefined {
    const rows = this.#db.all<{ seq: number; path: string }>(
      'SELECT seq, path FROM catalog_changes WHERE seq >= ?',
      seq,
    );
    const isUnbroken = seq === 0 ? rows.length === 0 || rows[0]!.seq === 1 : rows[0]?.seq === seq;
    return isUnbroken ? new Set(rows.filter((row) => row.seq > seq).map(({ path }) => path)) : undefined;
  }

  /** Tells other processes before anything moves, so that a holder who dies in between hides nothing from them. */
  async tell(paths: readonly string[]): Promise<void> {
    const seq = await this.#db.write((tx) => {
      for (const path of paths) tx.run('INSERT INTO catalog_changes (path, writer) VALUES (?, ?)', path, this.writer);
      return tx.get<{ seq: number }>('SELECT max(seq) AS seq FROM catalog_changes')?.seq ?? 0;
    });
    this.saw(seq);
    await this.trim(seq);
  }

  /** Drops rows that are old, now and then. */
  async trim(seq: number): Promise<void> {
    if (seq - this.#trimmedAt <= keptRows / 10) return;
    this.#trimmedAt = seq;
    await this.#db.write((tx) => tx.run('DELETE FROM catalog_changes WHERE seq < ?', seq - keptRows));
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}
