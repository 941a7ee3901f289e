import type { Base } from './search-base.ts';
import { lengthOf, signature } from './search-words.ts';

/**
 * Words ordered by length, with the letters they hold as bits: whoever looks for words that are like another one needs
 * to look closely at very few of them.
 */
export interface Shapes {
  /** Numbers of the words, shortest first. */
  order: Uint32Array;
  /** Where the words of each length begin in `order`. */
  starts: Uint32Array;
  /** One bit per kind of letter, in the same order. */
  signatures: Uint32Array;
}

const longest = 128;

export function shapesOf(words: readonly string[]): Shapes {
  const lengths = Uint8Array.from(words, lengthOf);
  const starts = new Uint32Array(longest + 2);
  for (const length of lengths) starts[length + 1] = (starts[length + 1] as number) + 1;
  for (let length = 1; length < starts.length; length++)
    starts[length] = (starts[length] as number) + (starts[length - 1] as number);
  const next = starts.slice();
  const order = new Uint32Array(words.length);
  lengths.forEach((length, number) => {
    order[next[length] as number] = number;
    next[length] = (next[length] as number) + 1;
  });
  return { order, starts, signatures: Uint32Array.from(order, (number) => signature(words[number] as string)) };
}

/** Visits every word that may be within `edits` of the token, and some that are not. */
export function forLike(shapes: Shapes, token: string, edits: number, visit: (word: number) => void): void {
  const { order, starts, signatures } = shapes;
  const length = lengthOf(token);
  const bits = signature(token);
  const end = starts[Math.min(length + edits + 1, longest + 1)] as number;
  for (let at = starts[Math.max(0, length - edits)] as number; at < end; at++)
    if (bitCount((signatures[at] as number) ^ bits) <= 2 * edits) visit(order[at] as number);
}

/** Words joined into one text: a single pass finds all that hold a token. */
export interface Joined {
  text: string;
  /** Where each word ends in the text, its separator included. */
  ends: Uint32Array;
  numbers: Uint32Array;
}

/** Joins the words that stand in a field, given by its bit. */
export function joinedOf({ words, offsets, postings }: Base, field: number): Joined {
  const numbers: number[] = [];
  for (let word = 0; word < words.length; word++) {
    const end = offsets[word + 1] as number;
    for (let at = offsets[word] as number; at < end; at++)
      if (((postings[at] as number) & field) !== 0) {
        numbers.push(word);
        break;
      }
  }
  const ends = new Uint32Array(numbers.length);
  numbers.forEach((word, at) => (ends[at] = (ends[at - 1] ?? 0) + (words[word] as string).length + 1));
  return { text: numbers.map((word) => `${words[word]}\n`).join(''), ends, numbers: Uint32Array.from(numbers) };
}

/** Visits every word that holds the token. */
export function forHolding({ text, ends, numbers }: Joined, token: string, visit: (word: number) => void): void {
  let at = 0;
  for (let place = text.indexOf(token); place >= 0; place = text.indexOf(token, ends[at] as number)) {
    at = firstBehind(ends, place, at);
    visit(numbers[at] as number);
  }
}

function firstBehind(ends: Uint32Array, place: number, from: number): number {
  let low = from;
  let high = ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function bitCount(bits: number): number {
  let n = bits - ((bits >>> 1) & 0x55555555);
  n = (n & 0x33333333) + ((n >>> 2) & 0x33333333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
