import { fields, tiers, type SearchDoc, type SearchHit, type SearchOptions } from './search.ts';
import { allowedEdits, fieldText, isWithin, normal, tokensOf, wordsOf } from './search-words.ts';

const defaultLimit = 256;

/** The contract of a search, read off document by document: what the index must answer, and what answers without one. */
export function scan(docs: Iterable<SearchDoc>, query: string, options: SearchOptions = {}): SearchHit[] {
  const tokens = tokensOf(query);
  const bundles = options.bundles && new Set(options.bundles);
  const hits: SearchHit[] = [];
  if (tokens.length === 0) return hits;
  for (const doc of docs) {
    if (!doc.isEnabled && !options.includeDisabled) continue;
    if (bundles && !bundles.has(doc.bundleSlug)) continue;
    const match = matchDoc(doc, tokens);
    if (match) hits.push({ id: doc.id, ...match, modifiedAt: doc.modifiedAt });
  }
  hits.sort(compareHits);
  const from = options.after ? hits.findIndex((hit) => compareHits(hit, options.after as Place) > 0) : 0;
  return from < 0 ? [] : hits.slice(from, from + (options.limit ?? defaultLimit));
}

type Place = Pick<SearchHit, 'tier' | 'modifiedAt' | 'id'>;

/** Tier, then newest first, then id. */
export function compareHits(a: Place, b: Place): number {
  const byTier = tiers.indexOf(a.tier) - tiers.indexOf(b.tier);
  if (byTier !== 0) return byTier;
  const byTime = Date.parse(b.modifiedAt) - Date.parse(a.modifiedAt);
  if (byTime !== 0) return byTime;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}

type Match = Pick<SearchHit, 'tier' | 'field'>;

/** Every token must match; the worst of them decides. */
export function matchDoc(doc: SearchDoc, tokens: readonly string[]): Match | undefined {
  let worst: Match | undefined;
  for (const token of tokens) {
    const match = matchToken(doc, token);
    if (!match) return undefined;
    if (!worst || tiers.indexOf(match.tier) > tiers.indexOf(worst.tier)) worst = match;
  }
  return worst;
}

function matchToken(doc: SearchDoc, token: string): Match | undefined {
  const words = fields.map((field) => [field, wordsOf(fieldText(doc, field))] as const);
  const find = (fits: (word: string) => boolean, among = words): SearchHit['field'] | undefined =>
    among.find(([, each]) => each.some(fits))?.[0];
  const prefix = find((word) => word.startsWith(token), words.slice(0, 2));
  if (prefix) return { tier: 'prefix', field: prefix };
  const whole = find((word) => word === token);
  if (whole) return { tier: 'word', field: whole };
  const edits = allowedEdits(token);
  if (normal(doc.slug).includes(token)) return { tier: 'fuzzy', field: 'slug' };
  const fuzzy = edits > 0 ? find((word) => isWithin(token, word, edits)) : undefined;
  return fuzzy && { tier: 'fuzzy', field: fuzzy };
}
