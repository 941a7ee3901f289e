/** What is searched of one tool version. */
export interface SearchDoc {
  id: string;
  slug: string;
  displayName: string;
  tags: readonly string[];
  description: string;
  bundleSlug: string;
  modifiedAt: string;
  /** The tool and its bundle are both switched on. */
  isEnabled: boolean;
  /** Any text that changes whenever something above changes: tells whether a kept index is up to date. */
  stamp: string;
}

export const fields = ['slug', 'displayName', 'tags', 'description', 'bundleSlug'] as const;
export type SearchField = (typeof fields)[number];

export const tiers = ['prefix', 'word', 'fuzzy'] as const;
export type SearchTier = (typeof tiers)[number];

export interface SearchHit {
  id: string;
  tier: SearchTier;
  field: SearchField;
  modifiedAt: string;
}

export interface SearchOptions {
  includeDisabled?: boolean;
  /** Slugs of the bundles to look in; absent means all. */
  bundles?: readonly string[];
  /** Continues after this hit of an earlier answer. */
  after?: { tier: SearchTier; modifiedAt: string; id: string };
  /** At most this many; 256 by default. */
  limit?: number;
}

export interface RankedHit {
  id: string;
  score: number;
}

/** Where the index gets documents from when it has to fill or mend itself. */
export interface SearchSource {
  /** Every document that exists, with its stamp. */
  known(): Iterable<{ id: string; stamp: string }>;
  load(ids: readonly string[]): Promise<SearchDoc[]>;
}

/** Finds tools in a thread of its own. Every change is seen by every search that is asked for after it. */
export interface SearchIndex {
  /** Compares with the source and loads what is missing or changed; searches wait for the first one to end. */
  sync(): Promise<{ loaded: number; removed: number }>;
  put(docs: readonly SearchDoc[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
  /** By tiers, newest first inside a tier. */
  query(text: string, options?: SearchOptions): Promise<SearchHit[]>;
  /** By relevance, for agents: best first, tolerant of typos and word endings, not every word must match. */
  rank(text: string, options?: Omit<SearchOptions, 'after'>): Promise<RankedHit[]>;
  /** Says where documents come from, for an index that was opened before that was known. */
  readFrom(source: SearchSource): void;
  /** How many documents it held when it was opened. */
  opened(): Promise<number>;
  close(): Promise<void>;
}
