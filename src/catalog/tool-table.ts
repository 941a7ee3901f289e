import type { Tool } from '../schema/index.ts';
import { HashSlots, hashOfText } from './hash-slots.ts';
import { readableName } from './stored-files.ts';
import type { KnownStamp } from './stored-records.ts';
import { columnNames, columnsOf, fileHashBytes, kinds } from './tool-columns.ts';
import type { OrderKey, ToolSummary } from './tool-summary.ts';

type Packed = [string, string, string, string, Tool['type'], 0 | 1, string, string | 0, ...string[]];

const keptSummaries = 2048;
const none = -1;

/** A table as it lies on disk. */
export interface SavedTools {
  count: number;
  revision: number;
  bundleIds: string[];
  /** The columns by name, and `texts`. */
  parts: Record<string, Uint8Array>;
}

/**
 * All stored tools in a few long columns: a hundred thousand objects would take three times the memory, and the garbage
 * collector would walk over them again and again. A summary is made when it is asked for.
 */
export class ToolTable {
  #texts: Buffer = Buffer.alloc(64 * 1024);
  #textEnd = 0;
  #deadBytes = 0;
  #columns = columnsOf((_, Kind, width) => new Kind(1024 * width));
  readonly #byId = new HashSlots((number) => this.#columns.idHashes[number] as number);
  readonly #byName = new HashSlots((number) => this.#columns.nameHashes[number] as number);
  readonly #bySlug = new HashSlots((number) => this.#columns.slugHashes[number] as number);
  readonly #byPath = new HashSlots((number) => this.#columns.pathHashes[number] as number);
  /** By number; empty where a bundle lost its last tool, until another one takes the number. */
  #bundleIds: string[] = [];
  readonly #bundleNumbers = new Map<string, number>();
  readonly #heads: number[] = [];
  readonly #counts: number[] = [];
  readonly #free: number[] = [];
  readonly #freeBundles: number[] = [];
  #given = 0;
  #revision = 0;
  readonly #kept = new Map<number, ToolSummary>();

  get size(): number {
    return this.#given - this.#free.length;
  }

  /** Grows with every change. */
  get revision(): number {
    return this.#revision;
  }

  /** The columns as they are in memory; valid until the next change. */
  save(): SavedTools {
    const parts: Record<string, Uint8Array> = { texts: this.#texts.subarray(0, this.#textEnd) };
    for (const name of columnNames) {
      const column = this.#columns[name].subarray(0, this.#given * kinds[name][1]);
      parts[name] = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
    }
    return { count: this.#given, revision: this.#revision, bundleIds: this.#bundleIds, parts };
  }

  /** Takes what was saved as it is; for a table that is still empty. The parts start at multiples of eight bytes. */
  restore({ count, revision, bundleIds, parts }: SavedTools): void {
    const texts = parts['texts']!;
    this.#texts = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
    this.#textEnd = texts.byteLength;
    this.#columns = columnsOf((name, Kind, width) => {
      const { buffer, byteOffset } = parts[name]!;
      return new Kind(buffer, byteOffset, count * width);
    });
    this.#given = count;
    this.#revision = revision;
    this.#bundleIds = [...bundleIds];
    bundleIds.forEach((id, bundle) => {
      this.#bundleNumbers.set(id, bundle);
      this.#heads.push(none);
      this.#counts.push(0);
    });
    for (let number = 0; number < count; number++)
      if (this.#columns.lengths[number] === 0) this.#free.push(number);
      else this.#list(number);
    this.#counts.forEach((count, bundle) => count === 0 && this.#letGo(bundle));
    this.#deadBytes = this.#textEnd - this.#columns.lengths.reduce((sum, length) => sum + length, 0);
  }

  /** Every number that stands for a tool. */
  *numbers(): Generator<number> {
    for (let number = 0; number < this.#given; number++) if (this.#columns.lengths[number] !== 0) yield number;
  }

  /** Adds a tool whose path is not there yet; answers its number. */
  add(summary: ToolSummary): number {
    const { path, mtimeMs, size } = summary.file!;
    const number = this.#free.pop() ?? this.#next();
    this.#write(number, pack(summary));
    this.#columns.mtimes[number] = mtimeMs;
    this.#columns.sizes[number] = size;
    this.#columns.revisions[number] = ++this.#revision;
    this.#columns.idHashes[number] = hashOfText(summary.id);
    this.#columns.nameHashes[number] = hashOfText(summary.name);
    const bundle = this.#bundleNumber(summary.bundleID);
    this.#columns.slugHashes[number] = hashOfText(summary.slug, bundle);
    this.#columns.pathHashes[number] = hashOfText(path);
    this.#columns.fileHashes.set(Buffer.from(fileHashOf(path), 'hex'), number * fileHashBytes);
    this.#columns.bundles[number] = bundle;
    this.#list(number);
    return number;
  }

  /** Makes it known to all look-ups. */
  #list(number: number): void {
    const bundle = this.#columns.bundles[number] as number;
    this.#columns.nexts[number] = this.#heads[bundle] as number;
    this.#heads[bundle] = number;
    this.#counts[bundle] = (this.#counts[bundle] as number) + 1;
    for (const slots of [this.#byId, this.#byName, this.#bySlug, this.#byPath]) slots.add(number);
  }

  remove(number: number): void {
    for (const slots of [this.#byId, this.#byName, this.#bySlug, this.#byPath]) slots.remove(number);
    const bundle = this.#columns.bundles[number] as number;
    this.#unlink(bundle, number);
    this.#counts[bundle] = (this.#counts[bundle] as number) - 1;
    if (this.#counts[bundle] === 0) this.#letGo(bundle);
    this.#deadBytes += this.#columns.lengths[number] as number;
    this.#columns.lengths[number] = 0;
    this.#kept.delete(number);
    this.#free.push(number);
    this.#revision++;
  }

  /** The summary, cached for a while: whoever asks once tends to ask again. */
  get(number: number): ToolSummary {
    const kept = this.#kept.get(number);
    if (kept) return kept;
    const summary = this.read(number);
    this.keep(number, summary);
    return summary;
  }

  /** Keeps the summary of a tool that is likely to be asked for in a moment, because it is new. */
  keep(number: number, summary: ToolSummary): void {
    this.#kept.set(number, summary);
    if (this.#kept.size > keptSummaries) this.#kept.delete(this.#kept.keys().next().value!);
  }

  /** The summary without caching it, for a single look such as a list's. */
  read(number: number): ToolSummary {
    const kept = this.#kept.get(number);
    if (kept) return kept;
    const [id, slug, version, name, type, isOn, createdAt, modifiedAt, ...tags] = this.#packed(number);
    const bundleID = this.#bundleIds[this.#columns.bundles[number] as number] as string;
    return {
      id,
      slug,
      version,
      bundleID,
      name,
      type,
      isEnabled: isOn === 1,
      ...(tags.length > 0 && { tags }),
      createdAt,
      modifiedAt: modifiedAt === 0 ? createdAt : modifiedAt,
      file: {
        path: `${bundleID}/${readableName(slug, version)}.${this.#fileHash(number)}.json`,
        mtimeMs: this.#columns.mtimes[number] as number,
        size: this.#columns.sizes[number] as number,
      },
    };
  }

  /** Only what the order depends on: finding a place in it compares many tools. */
  key(number: number): OrderKey {
    const kept = this.#kept.get(number);
    if (kept) return kept;
    const [id, , , name, , , createdAt] = this.#packed(number);
    return { id, name, createdAt, bundleID: this.#bundleIds[this.#columns.bundles[number] as number] as string };
  }

  #packed(number: number): Packed {
    const start = this.#columns.starts[number] as number;
    return JSON.parse(this.#texts.toString('utf8', start, start + (this.#columns.lengths[number] as number))) as Packed;
  }

  byPath(path: string): number | undefined {
    const bundle = this.#bundleNumbers.get(path.slice(0, Math.max(0, path.indexOf('/'))));
    if (bundle === undefined) return undefined;
    const hash = fileHashOf(path);
    for (const number of this.#byPath.find(hashOfText(path)))
      if (this.#columns.bundles[number] === bundle && this.#fileHash(number) === hash) return number;
    return undefined;
  }

  /** The newest of those that share an id, which only a copied file can cause. */
  byId(id: string): number | undefined {
    return this.#newest(this.#byId.find(hashOfText(id)), (summary) => summary.id === id);
  }

  byName(name: string): ToolSummary[] {
    return Array.from(this.#byName.find(hashOfText(name)), (number) => this.get(number)).filter(
      (summary) => summary.name === name,
    );
  }

  /** Any version of a slug. */
  bySlug(bundleID: string, slug: string): number | undefined {
    const bundle = this.#bundleNumbers.get(bundleID);
    if (bundle === undefined) return undefined;
    const isIt = (summary: ToolSummary): boolean => summary.slug === slug && summary.bundleID === bundleID;
    return this.#newest(this.#bySlug.find(hashOfText(slug, bundle)), isIt);
  }

  *ofBundle(bundleID: string): Generator<number> {
    const bundle = this.#bundleNumbers.get(bundleID);
    if (bundle === undefined) return;
    for (let number = this.#heads[bundle] as number; number !== none; number = this.#columns.nexts[number] as number)
      yield number;
  }

  countOf(bundleID: string): number {
    const bundle = this.#bundleNumbers.get(bundleID);
    return bundle === undefined ? 0 : (this.#counts[bundle] as number);
  }

  /** Bundles that hold any tool. */
  bundleIds(): string[] {
    return this.#bundleIds.filter((_, bundle) => (this.#counts[bundle] as number) > 0);
  }

  stamp(number: number): KnownStamp {
    return {
      mtimeMs: this.#columns.mtimes[number] as number,
      size: this.#columns.sizes[number] as number,
      revision: this.#columns.revisions[number] as number,
    };
  }

  #fileHash(number: number): string {
    const { fileHashes } = this.#columns;
    return Buffer.from(fileHashes.buffer, fileHashes.byteOffset + number * fileHashBytes, fileHashBytes).toString(
      'hex',
    );
  }

  #newest(numbers: Iterable<number>, isIt: (summary: ToolSummary) => boolean): number | undefined {
    let found: number | undefined;
    for (const number of numbers)
      if (
        isIt(this.get(number)) &&
        (found === undefined || this.#columns.revisions[number]! > this.#columns.revisions[found]!)
      )
        found = number;
    return found;
  }

  #bundleNumber(id: string): number {
    let number = this.#bundleNumbers.get(id);
    if (number === undefined) {
      number = this.#freeBundles.pop() ?? this.#bundleIds.length;
      this.#bundleIds[number] = id;
      this.#bundleNumbers.set(id, number);
      this.#heads[number] = none;
      this.#counts[number] = 0;
    }
    return number;
  }

  /** Frees the number of a bundle without tools: bundles come and go, and the table is saved and read as a whole. */
  #letGo(bundle: number): void {
    this.#bundleNumbers.delete(this.#bundleIds[bundle] as string);
    this.#bundleIds[bundle] = '';
    this.#freeBundles.push(bundle);
  }

  #unlink(bundle: number, number: number): void {
    const after = this.#columns.nexts[number] as number;
    let at = this.#heads[bundle] as number;
    if (at === number) {
      this.#heads[bundle] = after;
      return;
    }
    while (this.#columns.nexts[at] !== number) at = this.#columns.nexts[at] as number;
    this.#columns.nexts[at] = after;
  }

  #next(): number {
    if (this.#given === this.#columns.starts.length) this.#grow();
    return this.#given++;
  }

  #grow(): void {
    const old = this.#columns;
    this.#columns = columnsOf((name, Kind, width) => {
      const larger = new Kind(Math.max(1024 * width, old[name].length * 2));
      larger.set(old[name]);
      return larger;
    });
  }

  #write(number: number, text: string): void {
    const length = Buffer.byteLength(text);
    if (this.#textEnd + length > this.#texts.length) this.#makeRoom(length);
    this.#texts.write(text, this.#textEnd);
    this.#columns.starts[number] = this.#textEnd;
    this.#columns.lengths[number] = length;
    this.#textEnd += length;
  }

  /** Closes the gaps that removed texts left; grows when that gains too little. */
  #makeRoom(length: number): void {
    const living = this.#textEnd - this.#deadBytes + length;
    const old = this.#texts;
    this.#texts = Buffer.alloc(Math.max(Math.ceil(living * 1.5), 64 * 1024));
    this.#textEnd = 0;
    this.#deadBytes = 0;
    for (const number of this.numbers()) {
      const start = this.#columns.starts[number] as number;
      const size = this.#columns.lengths[number] as number;
      old.copy(this.#texts, this.#textEnd, start, start + size);
      this.#columns.starts[number] = this.#textEnd;
      this.#textEnd += size;
    }
  }
}

function pack({ id, slug, version, name, type, isEnabled, createdAt, modifiedAt, tags = [] }: ToolSummary): string {
  // Versions never change, so the two times are nearly always one.
  const modified = modifiedAt === createdAt ? 0 : modifiedAt;
  const packed: Packed = [id, slug, version, name, type, isEnabled ? 1 : 0, createdAt, modified, ...tags];
  return JSON.stringify(packed);
}

/** The part of a tool's file name that is made of slug and version; empty for names that no tool can have. */
function fileHashOf(path: string): string {
  const hash = path.slice(-37, -5);
  return /^[0-9a-f]{32}$/.test(hash) ? hash : '';
}
