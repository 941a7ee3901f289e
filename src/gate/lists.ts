import { setImmediate as nextTurn } from 'node:timers/promises';
import { reachesBundle } from '../auth/index.ts';
import type { Catalog, OrderKey, SearchHit, SearchOptions, ToolSummary } from '../catalog/index.ts';
import {
  compareText,
  fail,
  parseUuid7,
  type Actor,
  type Bundle,
  type PageTokens,
  type ToolView,
} from '../schema/index.ts';
import type { ToolViews } from './tool-views.ts';

const lookAtOnce = 64;

export interface Page<T> {
  items: T[];
  nextPageToken?: string;
}

export interface ToolFilter {
  tags: string[];
  bundleIDs: string[];
  includeDisabled: boolean;
}
export interface BundleFilter {
  bundleIDs: string[];
  includeDisabled: boolean;
}
export interface SearchFilter {
  q: string;
  includeDisabled: boolean;
}

export type Match = Pick<SearchHit, 'tier' | 'field'>;

/** Ranked hits for a query, best first, a page at a time. */
export type FindTools = (query: string, options: SearchOptions) => Promise<SearchHit[]>;

/** What a page holds when neither the request nor the token says so. */
const defaultPageSize = 25;

type Size = number | undefined;

export interface Lists {
  bundles(
    actor: Actor,
    filter: BundleFilter,
    pageSize: Size,
    pageToken?: string,
  ): Promise<Page<Bundle & { toolCount: number }>>;
  tools(actor: Actor, filter: ToolFilter, pageSize: Size, pageToken?: string): Promise<Page<ToolView>>;
  search(
    actor: Actor,
    filter: SearchFilter,
    pageSize: Size,
    pageToken?: string,
  ): Promise<Page<ToolView & { match: Match }>>;
}

/**
 * The pages that REST answers. A token carries the filters it was made with, which win over other
 * parameters, and the size of its pages, for requests that do not name one.
 */
export function lists(catalog: Catalog, views: ToolViews, tokens: PageTokens, find: FindTools): Lists {
  return {
    async bundles(actor, given, size, pageToken) {
      const { filter, pageSize, after } = start<BundleFilter, [string, string]>('bundles', given, size, pageToken);
      const wanted = new Set(filter.bundleIDs.map((id) => parseUuid7(id) ?? id));
      const all = catalog
        .bundles()
        .filter((each) => reachesBundle(actor, each.slug))
        .filter((each) => filter.includeDisabled || each.isEnabled)
        .filter((each) => wanted.size === 0 || wanted.has(each.id))
        .sort((a, b) => compareBundles([a.modifiedAt, a.id], [b.modifiedAt, b.id]))
        .filter((each) => !after || compareBundles([each.modifiedAt, each.id], after) > 0);
      const items = all.slice(0, pageSize).map((each) => ({ ...each, toolCount: catalog.countOf(each.id) }));
      const last = items.at(-1);
      if (all.length <= pageSize || !last) return { items };
      return {
        items,
        nextPageToken: tokens.make('bundles', { filter, size: pageSize, after: [last.modifiedAt, last.id] }),
      };
    },

    async tools(actor, given, size, pageToken) {
      const { filter, pageSize, after } = start<ToolFilter, OrderKey>('tools', given, size, pageToken);
      const wanted = new Set(filter.bundleIDs.map((id) => parseUuid7(id) ?? id));
      const items: ToolView[] = [];
      for await (const summary of summariesInTurns(catalog, after)) {
        if (wanted.size > 0 && !wanted.has(summary.bundleID)) continue;
        if (filter.tags.length > 0 && !filter.tags.some((tag) => summary.tags?.includes(tag))) continue;
        const view = await shown(actor, summary, filter.includeDisabled);
        if (!view) continue;
        if (items.length === pageSize)
          return {
            items,
            nextPageToken: tokens.make('tools', { filter, size: pageSize, after: keyOf(items.at(-1)!) }),
          };
        items.push(view);
      }
      return { items };
    },

    async search(actor, given, size, pageToken) {
      const { filter, pageSize, after } = start<SearchFilter, Place>('search', given, size, pageToken);
      if (filter.q.trim() === '')
        throw fail(
          'request.invalid',
          { reason: 'q is missing: say what to look for' },
          { details: [{ path: '/q', message: 'is missing' }] },
        );
      const items: (ToolView & { match: Match })[] = [];
      let last: Place | undefined;
      let looked = 0;
      for await (const hit of hitsAfter(actor, filter, pageSize, after)) {
        if (++looked % lookAtOnce === 0) await nextTurn();
        const summary = catalog.byId(hit.id);
        const view = summary && (await shown(actor, summary, filter.includeDisabled));
        if (!view) continue;
        if (items.length === pageSize)
          return { items, nextPageToken: tokens.make('search', { filter, size: pageSize, after: last }) };
        items.push({ ...view, match: { tier: hit.tier, field: hit.field } });
        last = { tier: hit.tier, modifiedAt: hit.modifiedAt, id: hit.id };
      }
      return { items };
    },
  };

  /** What a page is to hold: as its token says, otherwise as the request does. */
  function start<Filter, After>(
    list: string,
    given: Filter,
    size: Size,
    pageToken: string | undefined,
  ): { filter: Filter; pageSize: number; after?: After } {
    if (!pageToken) return { filter: given, pageSize: size ?? defaultPageSize };
    const state = tokens.read<State<Filter, After>>(list, pageToken);
    return { filter: state.filter, pageSize: size ?? state.size ?? defaultPageSize, after: state.after };
  }

  /** The tool as this list shows it; undefined when it is out of reach or switched off. */
  async function shown(actor: Actor, summary: ToolSummary, includeDisabled: boolean): Promise<ToolView | undefined> {
    const bundle = catalog.bundle(summary.bundleID);
    if (!bundle || !reachesBundle(actor, bundle.slug)) return undefined;
    // The summary knows of the switch alone; a tool whose function is gone shows itself only in its view.
    if (!includeDisabled && !(bundle.isEnabled && summary.isEnabled)) return undefined;
    const seen = await views.see(summary);
    return includeDisabled || seen?.view.isEnabled ? seen?.view : undefined;
  }

  /** Hits in order, fetched in portions: some of them may turn out not to be shown. */
  async function* hitsAfter(
    actor: Actor,
    filter: SearchFilter,
    pageSize: number,
    start?: Place,
  ): AsyncGenerator<SearchHit> {
    const limit = Math.min(2 * pageSize + 1, 256);
    const { includeDisabled } = filter;
    for (let after = start; ;) {
      const hits = await find(filter.q, {
        includeDisabled,
        limit,
        ...(actor.bundles && { bundles: actor.bundles }),
        ...(after && { after }),
      });
      yield* hits;
      after = hits.at(-1);
      if (hits.length < limit) return;
    }
  }
}

interface State<Filter, After> {
  filter: Filter;
  size?: number;
  after: After;
}

/** In list order, with a turn for others after every few; goes on by key, because the catalog may change meanwhile. */
async function* summariesInTurns(catalog: Catalog, after?: OrderKey): AsyncGenerator<ToolSummary> {
  for (let key = after; ; await nextTurn()) {
    let looked = 0;
    for (const summary of catalog.summaries(key)) {
      key = summary;
      yield summary;
      if (++looked === lookAtOnce) break;
    }
    if (looked < lookAtOnce) return;
  }
}

type Place = NonNullable<SearchOptions['after']>;

const keyOf = ({ name, createdAt, id, bundleID }: ToolView): OrderKey => ({ name, createdAt, id, bundleID });

/** Newest change first, then id. */
function compareBundles(a: readonly [string, string], b: readonly [string, string]): number {
  return compareText(b[0], a[0]) || compareText(a[1], b[1]);
}
