import { fields, tiers, type RankedHit, type SearchDoc, type SearchHit, type SearchOptions } from './search.ts';
import { docOf, emptyBase, Growing, lowerBound, mergeBase, packPosting, type Base } from './search-base.ts';
import { Ranker } from './search-rank.ts';
import { DocTable, stampHash, textHash, type Hash } from './search-docs.ts';
import { forHolding, forLike, joinedOf, shapesOf } from './search-shapes.ts';
import { allowedEdits, isWithin, tokensOf, wordPlaces } from './search-words.ts';

const inSlug = 0b000001;
const inNames = 0b000011;
const anywhere = 0b011111;
const prefix = 3;
const word = 2;
const fuzzy = 1;

/** The whole index in memory: a sorted base, a growing part, and the table of documents. */
export class SearchMemory {
  docs = new DocTable();
  base: Base = emptyBase();
  growing = new Growing();
  /** Documents up to here are in the base, in order of recency. */
  inBase = 0;
  #shapes = shapesOf([]);
  #slugWords = joinedOf(emptyBase(), inSlug);
  readonly #ranker = new Ranker(this);

  /** False when it was there just like that. */
  put(doc: SearchDoc): boolean {
    const stamp = stampHash(doc.id, doc.stamp);
    const text = textHash(doc);
    const old = this.docs.numberOf(doc.id);
    if (old !== undefined) {
      if (this.docs.hasText(old, text)) {
        if (this.docs.hasStamp(old, stamp)) return false;
        this.docs.restamp(old, doc.isEnabled, stamp);
        return true;
      }
      this.docs.kill(old);
    }
    const places = wordPlaces(doc);
    const { id, bundleSlug, isEnabled } = doc;
    const modifiedMs = Date.parse(doc.modifiedAt) || 0;
    const number = this.docs.add({
      id,
      bundleSlug,
      modifiedMs,
      stamp,
      text,
      isEnabled,
    });
    for (const [each, place] of places) this.growing.add(each, packPosting(number, place));
    return true;
  }

  remove(id: string): boolean {
    const doc = this.docs.numberOf(id);
    if (doc === undefined) return false;
    this.docs.kill(doc);
    return true;
  }

  isCurrent(id: string, stamp: Hash): boolean {
    const doc = this.docs.numberOf(id);
    return doc !== undefined && this.docs.hasStamp(doc, stamp);
  }

  /** How much would be saved by `settle`: grown postings and dead documents. */
  get unsettled(): number {
    return this.docs.size - this.inBase + (this.docs.size - this.docs.living);
  }

  /** Sorts what grew into the base and forgets the dead. Answers are the same before and after. */
  settle(): void {
    const { docs } = this;
    const order = new Uint32Array(docs.living);
    for (let doc = 0, at = 0; doc < docs.size; doc++) if (docs.isAlive(doc)) order[at++] = doc;
    order.sort((a, b) => docs.compare(a, b));
    const renumber = new Int32Array(docs.size).fill(-1);
    const settled = new DocTable();
    for (const doc of order) renumber[doc] = settled.add(docs.row(doc));
    const base = mergeBase(this.base, this.growing, renumber);
    this.restore(settled, base);
  }

  /** Takes over a base and its documents, in order of recency. */
  restore(docs: DocTable, base: Base): void {
    this.docs = docs;
    this.base = base;
    this.growing = new Growing();
    this.inBase = docs.size;
    this.#ranker.forget();
    this.#shapes = shapesOf(base.words);
    this.#slugWords = joinedOf(base, inSlug);
  }

  query(text: string, options: SearchOptions = {}): SearchHit[] {
    const tokens = tokensOf(text);
    if (tokens.length === 0) return [];
    const size = this.docs.size;
    const found = { tiers: new Uint8Array(size), fields: new Uint8Array(size) };
    const each = { tiers: new Uint8Array(size), fields: new Uint8Array(size) };
    tokens.forEach((token, index) => {
      if (index === 0) return this.#match(token, found);
      each.tiers.fill(0);
      this.#match(token, each);
      for (let doc = 0; doc < size; doc++) {
        if ((each.tiers[doc] as number) >= (found.tiers[doc] as number)) continue;
        found.tiers[doc] = each.tiers[doc] as number;
        found.fields[doc] = each.fields[doc] as number;
      }
    });
    return this.#collect(found, options);
  }

  /** By relevance; not every word must match. */
  rank(text: string, options: Omit<SearchOptions, 'after'> = {}): RankedHit[] {
    return this.#ranker.rank(text, options);
  }

  /** Words are numbered: those of the base first, then those that grew. */
  countOf(number: number): number {
    const { offsets, words } = this.base;
    if (number >= words.length) return this.growing.countOf(number - words.length);
    return (offsets[number + 1] as number) - (offsets[number] as number);
  }

  forPostings(number: number, visit: (posting: number) => void): void {
    const { offsets, postings, words } = this.base;
    if (number >= words.length) return this.growing.forEach(number - words.length, visit);
    for (let at = offsets[number] as number; at < (offsets[number + 1] as number); at++) visit(postings[at] as number);
  }

  /** Notes the best tier and field of one token for every document. */
  #match(token: string, found: Matches): void {
    const { base, growing } = this;
    for (let at = lowerBound(base.words, token); base.words[at]?.startsWith(token); at++) {
      this.#noteBase(found, at, prefix, inNames);
      if (base.words[at] === token) this.#noteBase(found, at, word, anywhere);
    }
    growing.words.forEach((each, id) => {
      if (each.startsWith(token)) growing.forEach(id, (posting) => note(found, posting, prefix, inNames));
    });
    const own = growing.idOf(token);
    if (own !== undefined) growing.forEach(own, (posting) => note(found, posting, word, anywhere));
    this.forSimilar(
      token,
      allowedEdits(token),
      (at) => this.#noteBase(found, at, fuzzy, anywhere),
      (id) => growing.forEach(id, (posting) => note(found, posting, fuzzy, anywhere)),
    );
    this.#noteSlugs(token, found);
  }

  #noteBase(found: Matches, index: number, tier: number, mask: number): void {
    const { offsets, postings } = this.base;
    const end = offsets[index + 1] as number;
    for (let at = offsets[index] as number; at < end; at++) note(found, postings[at] as number, tier, mask);
  }

  /** Visits all words within the given number of edits. */
  forSimilar(token: string, edits: number, inBase: (index: number) => void, inGrowing: (id: number) => void): void {
    if (edits === 0) return;
    const { words } = this.base;
    forLike(this.#shapes, token, edits, (at) => {
      if (isWithin(token, words[at] as string, edits)) inBase(at);
    });
    this.growing.words.forEach((each, id) => {
      if (Math.abs(each.length - token.length) <= edits * 2 && isWithin(token, each, edits)) inGrowing(id);
    });
  }

  /** A token holds no dash, so a slug that holds it holds it inside one word. */
  #noteSlugs(token: string, found: Matches): void {
    forHolding(this.#slugWords, token, (at) => this.#noteBase(found, at, fuzzy, inSlug));
    this.growing.words.forEach((each, id) => {
      if (each.includes(token)) this.growing.forEach(id, (posting) => note(found, posting, fuzzy, inSlug));
    });
  }

  /** Documents that may be shown under these options. */
  filter(options: SearchOptions): (doc: number) => boolean {
    const { docs } = this;
    const bundles = options.bundles && new Set(options.bundles);
    return (doc) =>
      docs.isAlive(doc) &&
      (options.includeDisabled === true || docs.isEnabled(doc)) &&
      (!bundles || bundles.has(docs.bundleSlugs[docs.bundles[doc] as number] as string));
  }

  #collect(found: Matches, options: SearchOptions): SearchHit[] {
    const { docs } = this;
    const limit = options.limit ?? 256;
    const isShown = this.filter(options);
    const isBehind = this.#behind(options.after);
    const fromBase: number[][] = [[], [], [], []];
    const fromGrowing: number[][] = [[], [], [], []];
    for (let doc = 0; doc < docs.size; doc++) {
      const tier = found.tiers[doc] as number;
      if (tier === 0) continue;
      const list = (doc < this.inBase ? fromBase : fromGrowing)[tier] as number[];
      if (doc < this.inBase && list.length === limit) continue;
      if (isShown(doc) && isBehind(tier, doc)) list.push(doc);
    }
    const hits: SearchHit[] = [];
    for (const tier of [prefix, word, fuzzy]) {
      const both = [...(fromBase[tier] as number[]), ...(fromGrowing[tier] as number[])];
      if ((fromGrowing[tier] as number[]).length > 0) both.sort((a, b) => docs.compare(a, b));
      for (const doc of both.slice(0, limit - hits.length))
        hits.push({
          id: docs.ids[doc] as string,
          tier: tiers[prefix - tier] as SearchHit['tier'],
          field: fields[found.fields[doc] as number] as SearchHit['field'],
          modifiedAt: new Date(docs.modified[doc] as number).toISOString(),
        });
    }
    return hits;
  }

  #behind(after: SearchOptions['after']): (tier: number, doc: number) => boolean {
    if (!after) return () => true;
    const afterTier = prefix - tiers.indexOf(after.tier);
    const afterMs = Date.parse(after.modifiedAt) || 0;
    return (tier, doc) => {
      if (tier !== afterTier) return tier < afterTier;
      const ms = this.docs.modified[doc] as number;
      return ms !== afterMs ? ms < afterMs : (this.docs.ids[doc] as string) > after.id;
    };
  }
}

interface Matches {
  tiers: Uint8Array;
  fields: Uint8Array;
}

function note(found: Matches, posting: number, tier: number, mask: number): void {
  const bits = posting & mask;
  if (bits === 0) return;
  const doc = docOf(posting);
  const known = found.tiers[doc] as number;
  if (known > tier) return;
  const field = 31 - Math.clz32(bits & -bits);
  if (known === tier && (found.fields[doc] as number) <= field) return;
  found.tiers[doc] = tier;
  found.fields[doc] = field;
}
