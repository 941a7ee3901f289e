import type { RankedHit, SearchOptions } from './search.ts';
import { docOf, lowerBound } from './search-base.ts';
import type { SearchMemory } from './search-memory.ts';
import { allowedEdits, tokensOf } from './search-words.ts';
import { stemOf } from './word-stem.ts';

/** The higher, the more it counts that a word is met again in the same document. */
const saturation = 3;
/** A word in the name counts as if it stood twice elsewhere. */
const nameBits = 0b100011;
const nameWeight = 2;
/** Words that only begin alike, and words with a typo, count less than the word itself. */
const beginsAlike = 0.8;
const withTypo = 0.7;
const vagueWeight = 0.5;
const shortestBeginning = 4;

/** Ranks by relevance: BM25 over word stems, with names weighted, beginnings and typos forgiven. */
export class Ranker {
  readonly #memory: SearchMemory;
  #stems: StemIndex | undefined;

  constructor(memory: SearchMemory) {
    this.#memory = memory;
  }

  /** The base changed: stems are taken again at the next question. */
  forget(): void {
    this.#stems = undefined;
  }

  rank(text: string, options: Omit<SearchOptions, 'after'> = {}): RankedHit[] {
    const { docs } = this.#memory;
    const scores = new Float32Array(docs.size);
    const best = new Float32Array(docs.size);
    const asked = weighed(text).map(([token, weight]) => ({ token, weight, groups: this.#related(token) }));
    // In a question of many words an unknown one is seldom a typo of what is looked for.
    const areTyposLikely = asked.filter(({ groups }) => groups.length > 0).length < 2;
    for (const { token, weight, groups } of asked) {
      best.fill(0);
      const meant = groups.length === 0 && areTyposLikely ? this.#similar(token) : groups;
      for (const [words, share] of meant) this.#score(words, share, best);
      for (let doc = 0; doc < best.length; doc++)
        if (best[doc] !== 0) scores[doc] = (scores[doc] as number) + weight * (best[doc] as number);
    }
    return this.#top(scores, options);
  }

  /** Groups of words that a token may mean, each with its share: same stem, or same beginning. */
  #related(token: string): Group[] {
    const { words, sorted, added } = this.#stemIndex();
    const stem = stemOf(token);
    const found: Group[] = [];
    const add = (other: string, share: number): void => {
      const group = words.get(other);
      if (group) found.push([group, share]);
    };
    add(stem, 1);
    if (stem.length >= shortestBeginning) {
      const longer = (other: string): void => {
        if (other !== stem) add(other, (beginsAlike * stem.length) / other.length);
      };
      for (let at = lowerBound(sorted, stem); sorted[at]?.startsWith(stem); at++) longer(sorted[at] as string);
      for (const other of added) if (other.startsWith(stem)) longer(other);
      for (let length = shortestBeginning; length < stem.length; length++)
        add(stem.slice(0, length), (beginsAlike * length) / stem.length);
    }
    return found;
  }

  /** Words that the token may be a typo of. */
  #similar(token: string): Group[] {
    const similar: number[] = [];
    const grownFrom = this.#memory.base.words.length;
    this.#memory.forSimilar(
      token,
      allowedEdits(token),
      (word) => similar.push(word),
      (id) => similar.push(grownFrom + id),
    );
    return [[similar, withTypo]];
  }

  /** Notes for each document what the words of the group give it together, where that is more than it has. */
  #score(words: readonly number[], share: number, best: Float32Array): void {
    const count = words.reduce((sum, word) => sum + this.#memory.countOf(word), 0);
    const rarity = Math.log(1 + Math.max(0, this.#memory.docs.living - count + 0.5) / (count + 0.5));
    const full = share * rarity * (saturation + 1);
    const met = new Map<number, number>();
    const take = (doc: number, times: number): void => {
      const score = (full * times) / (times + saturation);
      if (score > (best[doc] as number)) best[doc] = score;
    };
    for (const word of words)
      this.#memory.forPostings(word, (posting) => {
        const doc = docOf(posting);
        const times = (posting & nameBits ? nameWeight : 0) + ((posting >>> 6) & 3);
        if (words.length === 1) return take(doc, times);
        met.set(doc, (met.get(doc) ?? 0) + times);
      });
    met.forEach((times, doc) => take(doc, times));
  }

  #top(scores: Float32Array, options: SearchOptions): RankedHit[] {
    const { docs } = this.#memory;
    const limit = options.limit ?? 10;
    const isShown = this.#memory.filter(options);
    const hits: number[] = [];
    let floor = 0;
    for (let doc = 0; doc < scores.length; doc++) {
      if ((scores[doc] as number) <= floor || !isShown(doc)) continue;
      hits.push(doc);
      if (hits.length < limit * 4) continue;
      this.#order(hits, scores).length = limit;
      floor = scores[hits.at(-1) as number] as number;
    }
    return this.#order(hits, scores)
      .slice(0, limit)
      .map((doc) => ({ id: docs.ids[doc] as string, score: Math.round((scores[doc] as number) * 1000) / 1000 }));
  }

  #order(hits: number[], scores: Float32Array): number[] {
    return hits.sort((a, b) => (scores[b] as number) - (scores[a] as number) || this.#memory.docs.compare(a, b));
  }

  #stemIndex(): StemIndex {
    const { base, growing } = this.#memory;
    const stems = (this.#stems ??= stemsOf(base.words));
    for (; stems.grown < growing.words.length; stems.grown++) {
      const stem = stemOf(growing.words[stems.grown] as string);
      if (!stems.words.has(stem)) stems.added.push(stem);
      listUnder(stems.words, stem, base.words.length + stems.grown);
    }
    return stems;
  }
}

/** Words that count as one, and how much they count. */
type Group = [words: readonly number[], share: number];

interface StemIndex {
  /** Stem to the numbers of its words. */
  words: Map<string, number[]>;
  /** Stems of the base in order, and those that came since. */
  sorted: string[];
  added: string[];
  /** How many of the grown words are in here. */
  grown: number;
}

function stemsOf(baseWords: readonly string[]): StemIndex {
  const words = new Map<string, number[]>();
  baseWords.forEach((word, number) => listUnder(words, stemOf(word), number));
  return { words, sorted: [...words.keys()].sort(), added: [], grown: 0 };
}

function listUnder(words: Map<string, number[]>, stem: string, number: number): void {
  const listed = words.get(stem);
  if (listed) listed.push(number);
  else words.set(stem, [number]);
}

/** The words of a question that say something, each with its weight; all of them when none does. */
function weighed(text: string): [string, number][] {
  const tokens = tokensOf(text);
  const telling = tokens.filter((token) => !asking.has(token));
  return (telling.length > 0 ? telling : tokens).map((token) => [token, vague.has(stemOf(token)) ? vagueWeight : 1]);
}

const list = (words: string): string[] => words.split(' ');

/** English words that carry no subject. */
const asking = new Set(
  list(
    'a about above after again against all am an and any are as at be because been before being below between both but by can could ' +
      'd did do does doing don down during each few for from further get give had has have having he hello help her here hers herself hi him ' +
      'himself his how i id if im in into is it its itself ive just know let like ll look looking m made make me more most my myself need no nor ' +
      'not now of off on once only or other ought our ours ourselves out over own please possible re s same she should show so some such t ' +
      'tell than thanks that the their theirs them themselves then there these they this those through to too under until up use used using ve ' +
      'very want was way ways we were what when where which while who whom why will with would you your yours yourself yourselves able currently find',
  ),
);

/** Words that people ask with, and that seldom name what a tool does. */
const vague = new Set(
  list(
    'best good great better nice new latest recent current specific certain particular different various many much lot information info detail ' +
      'question answer problem thing someone anyone something anything everything people person suggest suggestion recommend recommendation provide ' +
      'offer assist assistance advice idea explain interested curious wondering planning related regarding available quick quickly easy easily also ' +
      'try start think feel sure really right first one two work time day today tool plugin app application api website site online web software platform service ' +
      'assistant user function feature option list name type kind based include',
  ).map(stemOf),
);
