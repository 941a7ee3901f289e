import { fields, type SearchDoc, type SearchField } from './search.ts';

const maxWordLength = 128;
const maxTokens = 32;

/** The words of a text, lower case, in order. What counts as a word is the same for documents and for queries. */
export function wordsOf(text: string): string[] {
  const found = isAscii(text) ? text.toLowerCase().match(/[a-z0-9]+/g) : normal(text).match(/[\p{L}\p{N}\p{M}]+/gu);
  if (!found) return [];
  return found.some((word) => word.length > maxWordLength)
    ? found.filter((word) => word.length <= maxWordLength)
    : found;
}

/** The different words of a query. More than 32 are not looked for. */
export function tokensOf(query: string): string[] {
  return [...new Set(wordsOf(query.slice(0, 4096)))].slice(0, maxTokens);
}

/** A text in the form in which substrings are searched. */
export const normal = (text: string): string => text.normalize('NFKC').toLowerCase();

/** The text of one field of a document. */
export function fieldText(doc: SearchDoc, field: SearchField): string {
  return field === 'tags' ? doc.tags.join(' ') : doc[field];
}

/** Marks a word that is only part of a compound name ("weather" in "getWeather"): it counts for relevance alone. */
const namePart = 1 << fields.length;
const once = namePart << 1;
const oftenest = once * 3;

/** Each word of a document: one bit per field that it occurs in, and how often it occurs outside the names. */
export function wordPlaces(doc: SearchDoc): Map<string, number> {
  const places = new Map<string, number>();
  fields.forEach((field, index) => {
    for (const word of wordsOf(fieldText(doc, field))) {
      const place = places.get(word) ?? 0;
      places.set(word, (place | (1 << index)) + (index > 1 && place < oftenest ? once : 0));
    }
  });
  for (const word of [...joinedParts(doc.slug), ...joinedParts(doc.displayName)])
    places.set(word, (places.get(word) ?? 0) | namePart);
  return places;
}

function joinedParts(name: string): string[] {
  if (!/\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}/u.test(name)) return [];
  return wordsOf(name.replace(/(\p{Ll}|\p{N})(?=\p{Lu})|(\p{Lu})(?=\p{Lu}\p{Ll})/gu, '$1$2 '));
}

/** How many edits a token may be away from a word: none below 4 letters, 1 below 8, else 2. */
export function allowedEdits(token: string): number {
  const letters = lengthOf(token);
  if (letters < 4) return 0;
  return letters < 8 ? 1 : 2;
}

/** Length in letters, not in code units. */
export function lengthOf(word: string): number {
  let length = word.length;
  for (let i = 0; i < word.length - 1; i++) if ((word.charCodeAt(i) & 0xfc00) === 0xd800) length--;
  return length;
}

/** One bit per kind of letter: two words that are k edits apart differ in at most 2k bits. */
export function signature(word: string): number {
  let bits = 0;
  for (const letter of word) bits |= 1 << (letterBits(letter.codePointAt(0) as number) & 31);
  return bits >>> 0;
}

const letterBits = (code: number): number => (code < 128 ? code : Math.imul(code, 0x9e3779b1) >>> 27);

/** True when `a` becomes `b` by at most `limit` insertions, deletions, replacements and swaps of neighbours. */
export function isWithin(a: string, b: string, limit: number): boolean {
  return isAscii(a) && isAscii(b)
    ? isWithinCodes(codeUnits(a, left), codeUnits(b, right), a.length, b.length, limit)
    : slowIsWithin(a, b, limit);
}

function slowIsWithin(a: string, b: string, limit: number): boolean {
  const x = Uint32Array.from(a, (letter) => letter.codePointAt(0) as number);
  const y = Uint32Array.from(b, (letter) => letter.codePointAt(0) as number);
  return isWithinCodes(x, y, x.length, y.length, limit);
}

const left = new Uint32Array(maxWordLength);
const right = new Uint32Array(maxWordLength);
let row = new Uint8Array(maxWordLength + 2);
let above = new Uint8Array(maxWordLength + 2);
let aboveThat = new Uint8Array(maxWordLength + 2);

/** Only the diagonal band that can still end within the limit is computed. */
function isWithinCodes(a: Uint32Array, b: Uint32Array, n: number, m: number, limit: number): boolean {
  if (Math.abs(n - m) > limit) return false;
  const far = limit + 1;
  for (let j = 0; j <= m; j++) above[j] = Math.min(j, far);
  for (let i = 1; i <= n; i++) {
    const from = Math.max(1, i - limit);
    const to = Math.min(m, i + limit);
    row[from - 1] = from === 1 ? Math.min(i, far) : far;
    let best = row[from - 1] as number;
    for (let j = from; j <= to; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = (above[j - 1] as number) + (same ? 0 : 1);
      if (j < i + limit) cost = Math.min(cost, (above[j] as number) + 1);
      cost = Math.min(cost, (row[j - 1] as number) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (aboveThat[j - 2] as number) + 1);
      row[j] = Math.min(cost, far);
      best = Math.min(best, cost);
    }
    if (to < m) row[to + 1] = far;
    if (best > limit) return false;
    [aboveThat, above, row] = [above, row, aboveThat];
  }
  return (above[m] as number) <= limit;
}

function codeUnits(word: string, into: Uint32Array): Uint32Array {
  for (let i = 0; i < word.length; i++) into[i] = word.charCodeAt(i);
  return into;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}
