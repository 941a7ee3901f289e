/**
 * One posting: a document, how often the word stands outside its names (two bits, 3 means "or more"), and where it
 * stands: one bit per field, and one for a part of a name that is written in one word.
 */
export const packPosting = (doc: number, place: number): number => ((doc << 8) | place) >>> 0;
export const docOf = (posting: number): number => posting >>> 8;

/** The sorted, unchanging part of the index: every word with the documents that hold it, ascending. */
export interface Base {
  words: string[];
  /** Postings of word i are `postings[offsets[i]] .. postings[offsets[i+1]]`. */
  offsets: Uint32Array;
  postings: Uint32Array;
}

export const emptyBase = (): Base => ({ words: [], offsets: new Uint32Array(1), postings: new Uint32Array(0) });

/** The part that grows: postings in the order they came, chained per word. */
export class Growing {
  readonly words: string[] = [];
  readonly #ids = new Map<string, number>();
  #heads = new Int32Array(1024);
  #counts = new Int32Array(1024);
  #next = new Int32Array(4096);
  #postings = new Uint32Array(4096);
  #count = 0;

  get size(): number {
    return this.#count;
  }

  add(word: string, posting: number): void {
    let id = this.#ids.get(word);
    if (id === undefined) {
      id = this.words.length;
      this.#ids.set(word, id);
      this.words.push(word);
      if (id >= this.#heads.length) {
        this.#heads = grown(this.#heads);
        this.#counts = grown(this.#counts);
      }
      this.#heads[id] = -1;
    }
    if (this.#count >= this.#next.length) {
      this.#next = grown(this.#next);
      this.#postings = grown(this.#postings);
    }
    this.#next[this.#count] = this.#heads[id] as number;
    this.#postings[this.#count] = posting;
    this.#heads[id] = this.#count++;
    this.#counts[id] = (this.#counts[id] as number) + 1;
  }

  idOf(word: string): number | undefined {
    return this.#ids.get(word);
  }

  countOf(id: number): number {
    return this.#counts[id] as number;
  }

  /** Newest first. */
  forEach(id: number, visit: (posting: number) => void): void {
    for (let at = this.#heads[id] as number; at >= 0; at = this.#next[at] as number)
      visit(this.#postings[at] as number);
  }
}

function grown<T extends Int32Array | Uint32Array>(array: T): T {
  const larger = new (array.constructor as new (length: number) => T)(array.length * 2);
  larger.set(array);
  return larger;
}

/** First word that is not smaller than `word`. */
export function lowerBound(words: readonly string[], word: string): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle] as string) < word) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * One base out of the old one and what grew since. `renumber` gives the new number of each document, or -1 for
 * one that is gone; words that nobody holds any more disappear.
 */
export function mergeBase(base: Base, growing: Growing, renumber: Int32Array): Base {
  const order = growing.words.map((word, id) => ({ word, id })).sort((a, b) => (a.word < b.word ? -1 : 1));
  const words: string[] = [];
  const offsets: number[] = [0];
  const postings = new Uint32Array(base.postings.length + growing.size);
  let filled = 0;
  const take = (posting: number): void => {
    const doc = renumber[docOf(posting)] as number;
    if (doc >= 0) postings[filled++] = packPosting(doc, posting & 255);
  };
  let next = 0;
  for (let index = 0; index < base.words.length || next < order.length;) {
    const fromBase = base.words[index];
    const fromGrowing = order[next];
    const word =
      fromBase === undefined || (fromGrowing && fromGrowing.word < fromBase)
        ? (fromGrowing as { word: string }).word
        : fromBase;
    const start = filled;
    if (word === fromBase) {
      for (let at = base.offsets[index] as number; at < (base.offsets[index + 1] as number); at++)
        take(base.postings[at] as number);
      index++;
    }
    if (word === fromGrowing?.word) {
      growing.forEach(fromGrowing.id, take);
      next++;
    }
    if (filled === start) continue;
    postings.subarray(start, filled).sort();
    words.push(word);
    offsets.push(filled);
  }
  return { words, offsets: Uint32Array.from(offsets), postings: postings.slice(0, filled) };
}
