import type { Tool } from '../schema/index.ts';
import { HashSlots, hashOfText } from './hash-slots.ts';
import { readableName } from './stored-files.ts';
import type { KnownStamp } from './stored-records.ts';
import type { ToolSummary } from './tool-summary.ts';

type Packed = [string, string, string, string, Tool['type'], 0 | 1, string, string | 0, ...string[]];

const fileHashBytes = 16;
const keptSummaries = 2048;
const none = -1;

/**
 * All stored tools in a few long columns: a hundred thousand objects would take three times the memory, and the garbage
 * collector would walk over them again and again. A summary is made when it is asked for.
 */
export class ToolTable {
  #texts = Buffer.alloc(64 * 1024);
  #textEnd = 0;
  #deadBytes = 0;
  #starts = new Uint32Array(1024);
  #lengths = new Uint32Array(1024);
  #mtimes = new Float64Array(1024);
  #sizes = new Float64Array(1024);
  #revisions = new Float64Array(1024);
  #bundles = new Uint32Array(1024);
  /** The next tool of the same bundle. */
  #nexts = new Int32Array(1024);
  #idHashes = new Uint32Array(1024);
  #nameHashes = new Uint32Array(1024);
  #slugHashes = new Uint32Array(1024);
  #pathHashes = new Uint32Array(1024);
  #fileHashes = Buffer.alloc(1024 * fileHashBytes);
  readonly #byId = new HashSlots((number) => this.#idHashes[number] as number);
  readonly #byName = new HashSlots((number) => this.#nameHashes[number] as number);
  readonly #bySlug = new HashSlots((number) => this.#slugHashes[number] as number);
  readonly #byPath = new HashSlots((number) => this.#pathHashes[number] as number);
  readonly #bundleIds: string[] = [];
  readonly #bundleNumbers = new Map<string, number>();
  readonly #heads: number[] = [];
  readonly #counts: number[] = [];
  readonly #free: number[] = [];
  #given = 0;
  #revision = 0;
  readonly #kept = new Map<number, ToolSummary>();

  get size(): number {
    return this.#given - this.#free.length;
  }

  /** Every number that stands for a tool. */
  *numbers(): Generator<number> {
    for (let number = 0; number < this.#given; number++) if (this.#lengths[number] !== 0) yield number;
  }

  /** Adds a tool whose path is not there yet; answers its number. */
  add(summary: ToolSummary): number {
    const { path, mtimeMs, size } = summary.file!;
    const number = this.#free.pop() ?? this.#next();
    this.#write(number, pack(summary));
    this.#mtimes[number] = mtimeMs;
    this.#sizes[number] = size;
    this.#revisions[number] = ++this.#revision;
    this.#idHashes[number] = hashOfText(summary.id);
    this.#nameHashes[number] = hashOfText(summary.name);
    const bundle = this.#bundleNumber(summary.bundleID);
    this.#slugHashes[number] = hashOfText(summary.slug, bundle);
    this.#pathHashes[number] = hashOfText(path);
    this.#fileHashes.write(fileHashOf(path), number * fileHashBytes, 'hex');
    this.#bundles[number] = bundle;
    this.#nexts[number] = this.#heads[bundle] as number;
    this.#heads[bundle] = number;
    this.#counts[bundle] = (this.#counts[bundle] as number) + 1;
    for (const slots of [this.#byId, this.#byName, this.#bySlug, this.#byPath]) slots.add(number);
    return number;
  }

  remove(number: number): void {
    for (const slots of [this.#byId, this.#byName, this.#bySlug, this.#byPath]) slots.remove(number);
    const bundle = this.#bundles[number] as number;
    this.#unlink(bundle, number);
    this.#counts[bundle] = (this.#counts[bundle] as number) - 1;
    this.#deadBytes += this.#lengths[number] as number;
    this.#lengths[number] = 0;
    this.#kept.delete(number);
    this.#free.push(number);
  }

  /** The summary, kept for a while: what is asked for once is asked for again. */
  get(number: number): ToolSummary {
    const kept = this.#kept.get(number);
    if (kept) return kept;
    const summary = this.read(number);
    this.#kept.set(number, summary);
    if (this.#kept.size > keptSummaries) this.#kept.delete(this.#kept.keys().next().value!);
    return summary;
  }

  /** The summary for one look, such as that of a list. */
  read(number: number): ToolSummary {
    const kept = this.#kept.get(number);
    if (kept) return kept;
    const start = this.#starts[number] as number;
    const text = this.#texts.toString('utf8', start, start + (this.#lengths[number] as number));
    const [id, slug, version, name, type, isOn, createdAt, modifiedAt, ...tags] = JSON.parse(text) as Packed;
    const bundleID = this.#bundleIds[this.#bundles[number] as number] as string;
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
        mtimeMs: this.#mtimes[number] as number,
        size: this.#sizes[number] as number,
      },
    };
  }

  byPath(path: string): number | undefined {
    const bundle = this.#bundleNumbers.get(path.slice(0, Math.max(0, path.indexOf('/'))));
    if (bundle === undefined) return undefined;
    const hash = fileHashOf(path);
    for (const number of this.#byPath.find(hashOfText(path)))
      if (this.#bundles[number] === bundle && this.#fileHash(number) === hash) return number;
    return undefined;
  }

  /** Of those that share an id, which only a copied file can bring about, the newest. */
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
    for (let number = this.#heads[bundle] as number; number !== none; number = this.#nexts[number] as number)
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
      mtimeMs: this.#mtimes[number] as number,
      size: this.#sizes[number] as number,
      revision: this.#revisions[number] as number,
    };
  }

  #fileHash(number: number): string {
    return this.#fileHashes.toString('hex', number * fileHashBytes, (number + 1) * fileHashBytes);
  }

  #newest(numbers: Iterable<number>, isIt: (summary: ToolSummary) => boolean): number | undefined {
    let found: number | undefined;
    for (const number of numbers)
      if (isIt(this.get(number)) && (found === undefined || this.#revisions[number]! > this.#revisions[found]!))
        found = number;
    return found;
  }

  #bundleNumber(id: string): number {
    let number = this.#bundleNumbers.get(id);
    if (number === undefined) {
      number = this.#bundleIds.push(id) - 1;
      this.#bundleNumbers.set(id, number);
      this.#heads.push(none);
      this.#counts.push(0);
    }
    return number;
  }

  #unlink(bundle: number, number: number): void {
    const after = this.#nexts[number] as number;
    let at = this.#heads[bundle] as number;
    if (at === number) {
      this.#heads[bundle] = after;
      return;
    }
    while (this.#nexts[at] !== number) at = this.#nexts[at] as number;
    this.#nexts[at] = after;
  }

  #next(): number {
    if (this.#given === this.#starts.length) this.#grow();
    return this.#given++;
  }

  #grow(): void {
    const size = this.#starts.length * 2;
    this.#starts = larger(this.#starts, new Uint32Array(size));
    this.#lengths = larger(this.#lengths, new Uint32Array(size));
    this.#mtimes = larger(this.#mtimes, new Float64Array(size));
    this.#sizes = larger(this.#sizes, new Float64Array(size));
    this.#revisions = larger(this.#revisions, new Float64Array(size));
    this.#bundles = larger(this.#bundles, new Uint32Array(size));
    this.#nexts = larger(this.#nexts, new Int32Array(size));
    this.#idHashes = larger(this.#idHashes, new Uint32Array(size));
    this.#nameHashes = larger(this.#nameHashes, new Uint32Array(size));
    this.#slugHashes = larger(this.#slugHashes, new Uint32Array(size));
    this.#pathHashes = larger(this.#pathHashes, new Uint32Array(size));
    this.#fileHashes = larger(this.#fileHashes, Buffer.alloc(size * fileHashBytes));
  }

  #write(number: number, text: string): void {
    const length = Buffer.byteLength(text);
    if (this.#textEnd + length > this.#texts.length) this.#makeRoom(length);
    this.#texts.write(text, this.#textEnd);
    this.#starts[number] = this.#textEnd;
    this.#lengths[number] = length;
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
      const start = this.#starts[number] as number;
      const size = this.#lengths[number] as number;
      old.copy(this.#texts, this.#textEnd, start, start + size);
      this.#starts[number] = this.#textEnd;
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

function larger<T extends { set(from: T): void }>(from: T, into: T): T {
  into.set(from);
  return into;
}
