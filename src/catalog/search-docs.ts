import { IdTable } from './id-table.ts';
import type { SearchDoc } from './search.ts';

const alive = 1;
const enabled = 2;

/** What is kept of every document besides its words, one column each. Numbers are given out in order. */
export class DocTable {
  ids: string[] = [];
  bundleSlugs: string[] = [];
  modified = new Float64Array(1024);
  /** Two halves each: of the stamp, and of the text. */
  stamps = new Uint32Array(2048);
  texts = new Uint32Array(2048);
  flags = new Uint8Array(1024);
  bundles = new Uint32Array(1024);
  readonly #numbers = new IdTable((doc) => this.ids[doc] as string);
  readonly #bundleNumbers = new Map<string, number>();
  #living = 0;

  /** A table as it was saved: every document alive. */
  static restore(columns: SavedDocs): DocTable {
    const table = new DocTable();
    const room = Math.max(1024, columns.ids.length);
    table.ids = columns.ids;
    table.bundleSlugs = columns.bundleSlugs;
    table.modified = larger(columns.modified, new Float64Array(room));
    table.stamps = larger(columns.stamps, new Uint32Array(room * 2));
    table.texts = larger(columns.texts, new Uint32Array(room * 2));
    table.flags = larger(columns.flags, new Uint8Array(room));
    table.bundles = larger(columns.bundles, new Uint32Array(room));
    columns.ids.forEach((id, doc) => table.#numbers.add(id, doc));
    columns.bundleSlugs.forEach((slug, number) => table.#bundleNumbers.set(slug, number));
    table.#living = columns.ids.length;
    return table;
  }

  /** The sum of the stamps of all living documents: equal sums mean equal contents. */
  sum(): Hash {
    let [a, b] = [0, 0];
    for (let doc = 0; doc < this.size; doc++) {
      if (!this.isAlive(doc)) continue;
      a = (a + (this.stamps[doc * 2] as number)) >>> 0;
      b = (b + (this.stamps[doc * 2 + 1] as number)) >>> 0;
    }
    return [a, b];
  }

  /** How many numbers were given out, dead ones included. */
  get size(): number {
    return this.ids.length;
  }

  get living(): number {
    return this.#living;
  }

  livingIds(): Iterable<string> {
    return this.ids.filter((_, doc) => this.isAlive(doc));
  }

  numberOf(id: string): number | undefined {
    return this.#numbers.find(id);
  }

  add(row: DocRow): number {
    const doc = this.ids.length;
    if (doc >= this.flags.length) this.#grow();
    this.ids.push(row.id);
    this.modified[doc] = row.modifiedMs;
    this.stamps.set(row.stamp, doc * 2);
    this.texts.set(row.text, doc * 2);
    this.flags[doc] = alive | (row.isEnabled ? enabled : 0);
    this.bundles[doc] = this.#bundleNumber(row.bundleSlug);
    this.#numbers.add(row.id, doc);
    this.#living++;
    return doc;
  }

  kill(doc: number): void {
    if (!this.isAlive(doc)) return;
    this.flags[doc] = 0;
    this.#numbers.remove(this.ids[doc] as string);
    this.#living--;
  }

  isAlive(doc: number): boolean {
    return ((this.flags[doc] as number) & alive) !== 0;
  }

  isEnabled(doc: number): boolean {
    return ((this.flags[doc] as number) & enabled) !== 0;
  }

  /** New switch and stamp for a document whose text is the same. */
  restamp(doc: number, isEnabled: boolean, stamp: Hash): void {
    this.flags[doc] = alive | (isEnabled ? enabled : 0);
    this.stamps.set(stamp, doc * 2);
  }

  hasText(doc: number, text: Hash): boolean {
    return this.texts[doc * 2] === text[0] && this.texts[doc * 2 + 1] === text[1];
  }

  hasStamp(doc: number, stamp: Hash): boolean {
    return this.stamps[doc * 2] === stamp[0] && this.stamps[doc * 2 + 1] === stamp[1];
  }

  /** Newest first, then id: the order inside a tier. */
  compare(a: number, b: number): number {
    const byTime = (this.modified[b] as number) - (this.modified[a] as number);
    if (byTime !== 0) return byTime;
    const [idA, idB] = [this.ids[a] as string, this.ids[b] as string];
    // A bundle that somebody copied shares its tools' ids with the first.
    if (idA === idB) return 0;
    return idA < idB ? -1 : 1;
  }

  row(doc: number): DocRow {
    return {
      id: this.ids[doc] as string,
      bundleSlug: this.bundleSlugs[this.bundles[doc] as number] as string,
      modifiedMs: this.modified[doc] as number,
      stamp: [this.stamps[doc * 2] as number, this.stamps[doc * 2 + 1] as number],
      text: [this.texts[doc * 2] as number, this.texts[doc * 2 + 1] as number],
      isEnabled: this.isEnabled(doc),
    };
  }

  #bundleNumber(slug: string): number {
    let number = this.#bundleNumbers.get(slug);
    if (number === undefined) {
      number = this.bundleSlugs.push(slug) - 1;
      this.#bundleNumbers.set(slug, number);
    }
    return number;
  }

  #grow(): void {
    const size = this.flags.length * 2;
    this.modified = larger(this.modified, new Float64Array(size));
    this.stamps = larger(this.stamps, new Uint32Array(size * 2));
    this.texts = larger(this.texts, new Uint32Array(size * 2));
    this.flags = larger(this.flags, new Uint8Array(size));
    this.bundles = larger(this.bundles, new Uint32Array(size));
  }
}

export interface SavedDocs {
  ids: string[];
  bundleSlugs: string[];
  modified: Float64Array<ArrayBuffer>;
  stamps: Uint32Array<ArrayBuffer>;
  texts: Uint32Array<ArrayBuffer>;
  flags: Uint8Array<ArrayBuffer>;
  bundles: Uint32Array<ArrayBuffer>;
}

function larger<T extends { set(from: T): void }>(from: T, into: T): T {
  into.set(from);
  return into;
}

/** 64 bits in two halves. */
export type Hash = readonly [number, number];

export interface DocRow {
  id: string;
  bundleSlug: string;
  modifiedMs: number;
  stamp: Hash;
  text: Hash;
  isEnabled: boolean;
}

/** Not for secrets: tells apart what a person or a program wrote. */
export function hash(text: string): Hash {
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ (code + 0x9e37), 0x85ebca6b) ^ (b >>> 13);
  }
  return [a >>> 0, b >>> 0];
}

export const stampHash = (id: string, stamp: string): Hash => hash(`${id} ${stamp}`);

export const textHash = (doc: SearchDoc): Hash =>
  hash(JSON.stringify([doc.slug, doc.displayName, doc.tags, doc.description, doc.bundleSlug, doc.modifiedAt]));
