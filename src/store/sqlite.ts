import { chmodSync, closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, type Failure } from '../schema/index.ts';
import { CommitMark } from './commit-mark.ts';
import { isBusy, switchToWal } from './lock.ts';

/** Runs inside one write transaction; must be synchronous, so nothing can come between. */
export type Writer<T> = (db: Database) => T;

interface Waiting {
  run: Writer<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

const breathEveryMs = 10;
/** How long a commit may go unseen of which no mark tells. */
const unmarkedMs = 100;
/** Less than anybody needs to be told of a commit elsewhere and to ask us about it. */
const freshMs = 0.1;

/**
 * One SQLite file shared by several processes. Reads are direct; writes are queued and committed in groups
 * under `BEGIN IMMEDIATE`, which is the lock across processes. A busy lock is waited for asynchronously.
 * A write is acknowledged (its promise resolves) only after its commit.
 */
export class Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #waiting: Waiting[] = [];
  #draining: Promise<void> | undefined;
  #closed = false;
  #breathedAt = 0;
  #isWriting = false;
  /** What SQLite said last, and when; when the mark was looked at, and whether in this turn. */
  readonly #outside = { version: 0, askedAt: -Infinity, lookedAt: -Infinity, isThisTurn: false };
  readonly #mark: CommitMark | undefined;

  /** With `isMarked`, whoever opened it so sees at once what another who did has committed, for a quarter of the price. */
  constructor(path: string, { isMarked = false } = {}) {
    // SQLite gives its side files the mode of the file itself.
    if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600));
    this.#db = new DatabaseSync(path, { timeout: 0 });
    this.#setUp();
    if (isMarked) this.#mark = new CommitMark(`${path}-mark`);
  }

  #setUp(): void {
    switchToWal(this.#db);
    this.#db.exec('PRAGMA busy_timeout = 2000');
    this.#db.exec('PRAGMA synchronous = NORMAL');
    // Each checkpoint waits for the disk: fewer, larger ones.
    this.#db.exec('PRAGMA wal_autocheckpoint = 8000');
    this.#db.exec('PRAGMA foreign_keys = ON');
    this.#db.exec('PRAGMA busy_timeout = 0');
  }

  /** A prepared statement, kept for the next time. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  get<T>(sql: string, ...params: SqlValue[]): T | undefined {
    return this.prepare(sql).get(...params) as T | undefined;
  }

  all<T>(sql: string, ...params: SqlValue[]): T[] {
    return this.prepare(sql).all(...params) as T[];
  }

  /** Rows one at a time; the reader may stop at any of them. */
  each<T>(sql: string, ...params: SqlValue[]): Iterable<T> {
    return this.prepare(sql).iterate(...params) as Iterable<T>;
  }

  /**
   * A number that is another one after any other connection (thread or process) committed. What is asked in one short
   * turn of the event loop is looked up once; a turn may take long, and a commit elsewhere may be answered meanwhile.
   */
  outsideVersion(): number {
    const outside = this.#outside;
    const now = performance.now();
    if (outside.isThisTurn && now - outside.lookedAt < freshMs) return outside.version;
    outside.lookedAt = now;
    if (!outside.isThisTurn) setImmediate(this.#turnIsOver);
    outside.isThisTurn = true;
    if (this.#mark && !this.#mark.isNew() && now - outside.askedAt < unmarkedMs) return outside.version;
    outside.askedAt = now;
    return (outside.version = this.get<{ data_version: number }>('PRAGMA data_version')!.data_version);
  }

  readonly #turnIsOver = (): void => void (this.#outside.isThisTurn = false);

  /** Only inside a Writer. */
  run(sql: string, ...params: SqlValue[]): number {
    return Number(this.prepare(sql).run(...params).changes);
  }

  /** True inside a Writer. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Queues a write; resolves after the commit. What one Writer throws undoes that Writer alone. */
  write<T>(run: Writer<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the database is closed'));
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ run, resolve: resolve as (value: unknown) => void, reject });
      // First let those who awaited the last commit go on; more writes may join meanwhile.
      this.#draining ??= new Promise<void>((done) => process.nextTick(done)).then(() => this.#drain());
    });
  }

  async #drain(): Promise<void> {
    try {
      await this.#commitGroups();
    } finally {
      this.#draining = undefined;
    }
    // A write that came while the last group was being answered saw this drain as still running.
    if (this.#waiting.length > 0) await (this.#draining ??= this.#drain());
  }

  async #commitGroups(): Promise<void> {
    while (this.#waiting.length > 0) {
      try {
        await this.#begin();
      } catch (error) {
        for (const each of this.#waiting.splice(0)) each.reject(error);
        return;
      }
      const group = this.#waiting.splice(0, 256);
      let settled: (() => void)[];
      try {
        settled = group.length === 1 ? [this.#runAlone(group[0]!)] : group.map((each) => this.#runOne(each));
        this.prepare('COMMIT').run();
        this.#mark?.renew();
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        for (const each of group) each.reject(error);
        continue;
      } finally {
        this.#isWriting = false;
      }
      for (const settle of settled) settle();
      // Where several write at once, their next writes shall share the next commit as well. And whoever writes
      // again as soon as it is answered must not keep everyone else from the event loop.
      if (group.length > 1 || performance.now() - this.#breathedAt > breathEveryMs) {
        await new Promise(setImmediate);
        this.#breathedAt = performance.now();
      }
    }
  }

  /** An error rolls back the whole transaction, which holds nothing else. */
  #runAlone({ run, resolve }: Waiting): () => void {
    const value = run(this);
    return () => resolve(value);
  }

  #runOne({ run, resolve, reject }: Waiting): () => void {
    this.prepare('SAVEPOINT one').run();
    try {
      const value = run(this);
      this.prepare('RELEASE one').run();
      return () => resolve(value);
    } catch (error) {
      this.prepare('ROLLBACK TO one').run();
      this.prepare('RELEASE one').run();
      return () => reject(error);
    }
  }

  async #begin(): Promise<void> {
    const giveUpAt = performance.now() + 30_000;
    for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 50)) {
      try {
        this.prepare('BEGIN IMMEDIATE').run();
        this.#isWriting = true;
        return;
      } catch (error) {
        if (!isBusy(error) || performance.now() > giveUpAt) throw error;
        await sleep(waitMs * (0.5 + Math.random()));
      }
    }
  }

  /** Brings one component's tables to the newest step. Each step runs once per file; the file is copied first. */
  async migrate(component: string, steps: readonly (string | Writer<void>)[]): Promise<void> {
    await this.write((db) =>
      db.#db.exec('CREATE TABLE IF NOT EXISTS schema_steps (component TEXT PRIMARY KEY, step INTEGER NOT NULL)'),
    );
    const before = this.#stepOf(component);
    if (before > 0 && before < steps.length) this.#keepCopy(`${component}-${before}`);
    await this.write((db) => {
      const done = this.#stepOf(component);
      if (done > steps.length) throw this.#tooNew(component, done, steps.length);
      for (const step of steps.slice(done))
        if (typeof step === 'string') db.#db.exec(step);
        else step(db);
      db.run(
        'INSERT INTO schema_steps VALUES (?, ?) ON CONFLICT (component) DO UPDATE SET step = excluded.step',
        component,
        steps.length,
      );
    });
  }

  #stepOf(component: string): number {
    return this.get<{ step: number }>('SELECT step FROM schema_steps WHERE component = ?', component)?.step ?? 0;
  }

  /** The home was written by a newer version of the program; starting would damage it. */
  #tooNew(component: string, found: number, known: number): Failure {
    const reason = `state.db was written by a newer version (${component} is at step ${found}, this program knows ${known}). Update oubliette, or restore a backup made by this version.`;
    return fail('home.unusable', { home: dirname(this.#db.location() ?? ''), reason });
  }

  /** Keeps a copy of what an older version wrote beside the file that is about to change. */
  #keepCopy(name: string): void {
    const file = this.#db.location();
    if (file === null) return;
    const copy = `${file}.before-${name}`;
    if (existsSync(copy)) return;
    rmSync(`${copy}.tmp`, { force: true });
    this.prepare('VACUUM INTO ?').run(`${copy}.tmp`);
    chmodSync(`${copy}.tmp`, 0o600);
    renameSync(`${copy}.tmp`, copy);
  }

  /** Waits for queued writes, then closes. */
  async close(): Promise<void> {
    await this.#draining;
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
    this.#mark?.close();
  }
}

const [sqliteCorrupt, sqliteNotADatabase] = [11, 26];

/** True when SQLite cannot make sense of what is in a file. */
export function isBrokenDatabase(error: unknown): boolean {
  const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff;
  return code === sqliteCorrupt || code === sqliteNotADatabase;
}

export type SqlValue = null | number | bigint | string | Uint8Array;
