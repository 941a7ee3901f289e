import { chmodSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { isDamaged } from './damaged-file.ts';
import type { SearchDoc } from './search.ts';
import type { Base } from './search-base.ts';
import { DocTable } from './search-docs.ts';
import type { SearchMemory } from './search-memory.ts';

/** Written into the file; another number means: made by another version, build again. */
const layout = 2;

/** SQLite's own code: another connection holds the file. */
const busy = 5;

const waitMs = 10_000;
/** SQLite lets none of two processes wait that make the same new file at the same moment: we do. */
const napMs = 10;
const napping = new Int32Array(new SharedArrayBuffer(4));

interface Unopened {
  reason: string;
  isDamaged: boolean;
  isBusy: boolean;
}

/** A change since the base was saved; without a document it was removed. */
export interface Change {
  id: string;
  doc?: SearchDoc;
}

/**
 * `index.db`: the base as it was last settled, and the changes since. It may be lost at any time without harm.
 * Lives in the search thread alone, which may wait for a lock and must start fast: so no other room is loaded for it.
 */
export class SearchFile {
  readonly #db: DatabaseSync;
  /** How many changes it holds: all of them are read at the next start. */
  changes = 0;

  private constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /**
   * Opens the file and fills the memory from it. A file that is damaged or of another layout is deleted and made anew;
   * one that another process holds, or that the disk refuses, is left alone.
   */
  static open(path: string, memory: SearchMemory, onProblem: (reason: string) => void): SearchFile | undefined {
    const giveUpAt = performance.now() + waitMs;
    for (let isNew = false; ;) {
      const opened = SearchFile.#tryOpen(path, memory);
      if (opened instanceof SearchFile) return opened;
      if (opened.isBusy && performance.now() < giveUpAt) {
        Atomics.wait(napping, 0, 0, napMs);
        continue;
      }
      if (isNew || !opened.isDamaged) {
        onProblem(`the search index is kept in memory only: ${opened.reason}`);
        return undefined;
      }
      onProblem(`the search index is built again: ${opened.reason}`);
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
      isNew = true;
    }
  }

  static #tryOpen(path: string, memory: SearchMemory): SearchFile | Unopened {
    let db: DatabaseSync | undefined;
    try {
      db = new DatabaseSync(path, { timeout: waitMs });
      chmodSync(path, 0o600);
      db.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
        CREATE TABLE IF NOT EXISTS parts (name TEXT PRIMARY KEY, crc INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
        CREATE TABLE IF NOT EXISTS changes (seq INTEGER PRIMARY KEY, id TEXT NOT NULL, doc TEXT) STRICT;`);
      const file = new SearchFile(db);
      file.#load(memory);
      return file;
    } catch (error) {
      if (db?.isOpen) db.close();
      const { message, errcode = 0 } = error as Error & { errcode?: number };
      return { reason: message, isDamaged: isDamaged(error), isBusy: (errcode & 0xff) === busy };
    }
  }

  #load(memory: SearchMemory): void {
    if (this.#all('SELECT 1 FROM parts LIMIT 1').length > 0) {
      const { docs, base } = decode((name) => this.#part(name));
      memory.restore(docs, base);
    }
    const changes = this.#all<{ id: string; doc: string | null }>('SELECT id, doc FROM changes ORDER BY seq');
    this.changes = changes.length;
    for (const { id, doc } of changes)
      if (doc === null) memory.remove(id);
      else memory.put(JSON.parse(doc) as SearchDoc);
  }

  /** One part at a time: together they would need the memory of the whole index a second time. */
  #part(name: string): Uint8Array {
    const row = this.#db.prepare('SELECT crc, data FROM parts WHERE name = ?').get(name) as
      { crc: number; data: Uint8Array } | undefined;
    if (!row) throw new Error(`its part ${name} is missing`);
    if (crc32(row.data) !== row.crc) throw new Error(`its part ${name} is damaged`);
    return row.data;
  }

  #all<T>(sql: string): T[] {
    return this.#db.prepare(sql).all() as T[];
  }

  append(changes: readonly Change[]): void {
    const insert = this.#db.prepare('INSERT INTO changes (id, doc) VALUES (?, ?)');
    this.#write(() => {
      for (const { id, doc } of changes) insert.run(id, doc === undefined ? null : JSON.stringify(doc));
    });
    this.changes += changes.length;
  }

  /** Replaces everything in the file by the settled memory. */
  save(memory: SearchMemory): void {
    const insert = this.#db.prepare('INSERT INTO parts (name, crc, data) VALUES (?, ?, ?)');
    this.#write(() => {
      this.#db.exec('DELETE FROM parts; DELETE FROM changes;');
      for (const [name, data] of encode(memory.docs, memory.base)) insert.run(name, crc32(data), data);
    });
    this.changes = 0;
    this.#db.exec('PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);');
  }

  #write(run: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      run();
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }
}

const columns = ['modified', 'stamps', 'texts', 'flags', 'bundles'] as const;
type Numbers = Float64Array | Uint32Array | Uint8Array;

function encode(docs: DocTable, base: Base): Map<string, Uint8Array> {
  const parts = new Map<string, Uint8Array>();
  const text = (name: string, list: readonly string[]): unknown => parts.set(name, Buffer.from(list.join('\n')));
  const numbers = (name: string, array: Numbers): unknown =>
    parts.set(name, new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  numbers('layout', Uint32Array.of(layout, docs.size, base.words.length));
  text('words', base.words);
  text('ids', docs.ids);
  text('bundleSlugs', docs.bundleSlugs);
  numbers('offsets', base.offsets);
  numbers('postings', base.postings);
  for (const name of columns) {
    const column = docs[name];
    numbers(name, column.subarray(0, name === 'stamps' || name === 'texts' ? docs.size * 2 : docs.size));
  }
  return parts;
}

function decode(bytes: (name: string) => Uint8Array): { docs: DocTable; base: Base } {
  // Copied, because a blob may start at an odd place in memory.
  const numbers = <T>(name: string, Kind: new (buffer: ArrayBuffer) => T): T =>
    new Kind(bytes(name).slice().buffer as ArrayBuffer);
  const texts = (name: string, count: number): string[] =>
    count === 0 ? [] : Buffer.from(bytes(name)).toString('utf8').split('\n');
  const [found, size = 0, wordCount = 0] = numbers('layout', Uint32Array);
  if (found !== layout) throw new Error('it was made by another version');
  const base: Base = {
    words: texts('words', wordCount),
    offsets: numbers('offsets', Uint32Array),
    postings: numbers('postings', Uint32Array),
  };
  const docs = DocTable.restore({
    ids: texts('ids', size),
    bundleSlugs: texts('bundleSlugs', size),
    modified: numbers('modified', Float64Array),
    stamps: numbers('stamps', Uint32Array),
    texts: numbers('texts', Uint32Array),
    flags: numbers('flags', Uint8Array),
    bundles: numbers('bundles', Uint32Array),
  });
  if (docs.size !== size || base.words.length !== wordCount || base.offsets.length !== wordCount + 1)
    throw new Error('its parts do not fit together');
  return { docs, base };
}
