import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Bundle } from '../schema/index.ts';
import type { Catalog, CatalogChange } from './catalog.ts';
import type { RankedHit, SearchDoc, SearchHit, SearchIndex, SearchOptions } from './search.ts';
import type { ToolSummary } from './tool-summary.ts';

const loadAtOnce = 50;
const tellAtOnce = 500;
/** A search asks for what waits: until then many changes cost little more than one. */
const followAfterMs = 200;
const closeWithinMs = 2000;

/** What a catalog offers to those who look for tools. */
export interface CatalogSearch {
  query(text: string, options?: SearchOptions): Promise<SearchHit[]>;
  rank(text: string, options?: Omit<SearchOptions, 'after'>): Promise<RankedHit[]>;
  /** Resolves when the index is open and holds as many tools as there are; searches wait for the rest by themselves. */
  ready(): Promise<void>;
  /** Resolves when the index holds what the catalog holds. */
  synced(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps a search index in step with the catalog: a search that starts after a change was answered sees that change. */
export function catalogSearch(
  catalog: Catalog,
  index: SearchIndex,
  onProblem: (reason: string) => void,
): CatalogSearch {
  return new FollowingSearch(catalog, index, onProblem);
}

class FollowingSearch implements CatalogSearch {
  readonly #catalog: Catalog;
  readonly #index: SearchIndex;
  readonly #onProblem: (reason: string) => void;
  readonly #stop: () => void;
  readonly #bundles = new Map<string, string>();
  /** Tools that changed since the index was last told; those that change together are told together. */
  #changed = new Map<string, 'put' | 'gone'>();
  #telling: NodeJS.Timeout | undefined;
  /** Changes that are on their way into the index; searches wait for those that were there before them. */
  #following: Promise<void>;

  constructor(catalog: Catalog, index: SearchIndex, onProblem: (reason: string) => void) {
    this.#catalog = catalog;
    this.#onProblem = onProblem;
    this.#index = index;
    index.readFrom({ known: () => this.#known(), load: (ids) => this.#load(ids) });
    this.#changedBundles();
    this.#stop = catalog.onChange((change) => this.#follow(change));
    this.#following = this.#index.sync().then(
      () => {},
      (error: Error) => onProblem(`the search index could not be filled: ${error.message}`),
    );
  }

  async ready(): Promise<void> {
    const whole = this.#index.opened().then((count) => (count === this.#catalog.toolCount ? undefined : this.#told()));
    await Promise.race([whole, this.#told()]);
  }

  async synced(): Promise<void> {
    await this.#told();
  }

  async query(text: string, options?: SearchOptions): Promise<SearchHit[]> {
    await this.#told();
    return this.#index.query(text, options);
  }

  async rank(text: string, options?: Omit<SearchOptions, 'after'>): Promise<RankedHit[]> {
    await this.#told();
    return this.#index.rank(text, options);
  }

  async close(): Promise<void> {
    this.#stop();
    // If the index misses a change when it closes, the next start has to compare everything.
    if (this.#changed.size > 0) await Promise.race([this.#told(), sleep(closeWithinMs, undefined, { ref: false })]);
    await this.#index.close();
  }

  #follow(change: CatalogChange): void {
    const put =
      change.kind === 'tools'
        ? change.put
        : this.#changedBundles(change.ids).flatMap((id) => this.#catalog.summariesOf(id));
    const gone = change.kind === 'tools' ? change.gone : [];
    for (const { id } of gone) this.#changed.set(id, 'gone');
    for (const { id } of put) this.#changed.set(id, 'put');
    if (this.#changed.size > 0) this.#telling ??= setTimeout(() => void this.#told(), followAfterMs).unref();
  }

  /** Resolves when the index knows of every change up to now. */
  #told(): Promise<void> {
    clearTimeout(this.#telling);
    this.#telling = undefined;
    const changed = this.#changed;
    if (changed.size === 0) return this.#following;
    this.#changed = new Map();
    const step = async (): Promise<void> => {
      const gone = [...changed].flatMap(([id, how]) => (how === 'gone' ? [id] : []));
      const put = [...changed].flatMap(([id, how]) => (how === 'put' ? [id] : []));
      if (gone.length > 0) await this.#index.remove(gone);
      for (let from = 0; from < put.length; from += tellAtOnce)
        await this.#index.put(await this.#load(put.slice(from, from + tellAtOnce)));
    };
    this.#following = this.#following
      .then(step)
      .catch((error: Error) => this.#onProblem(`a change did not reach the search index: ${error.message}`));
    return this.#following;
  }

  /** Bundles whose slug or switch has changed since this was last asked. */
  #changedBundles(ids?: readonly string[]): string[] {
    const asked = ids ? ids.flatMap((id) => this.#catalog.bundle(id) ?? []) : this.#catalog.bundles();
    for (const id of ids ?? this.#bundles.keys()) if (!this.#catalog.bundle(id)) this.#bundles.delete(id);
    return asked.flatMap((bundle) => {
      const now = bundleState(bundle);
      if (this.#bundles.get(bundle.id) === now) return [];
      this.#bundles.set(bundle.id, now);
      return [bundle.id];
    });
  }

  *#known(): Generator<{ id: string; stamp: string }> {
    const states = new Map(this.#catalog.bundles().map((bundle) => [bundle.id, bundleState(bundle)]));
    for (const summary of this.#catalog.summaries()) {
      const state = states.get(summary.bundleID);
      if (state !== undefined) yield { id: summary.id, stamp: stampOf(summary, state) };
    }
  }

  /** A few at a time: reading a tool is quick, reading thousands would hold up everything else. */
  async #load(ids: readonly string[]): Promise<SearchDoc[]> {
    const docs: SearchDoc[] = [];
    for (let from = 0; from < ids.length; from += loadAtOnce) {
      if (from > 0) await nextTurn();
      const some = await Promise.all(ids.slice(from, from + loadAtOnce).map((id) => this.#doc(id)));
      for (const doc of some) if (doc) docs.push(doc);
    }
    return docs;
  }

  async #doc(id: string): Promise<SearchDoc | undefined> {
    const summary = this.#catalog.byId(id);
    const bundle = summary && this.#catalog.bundle(summary.bundleID);
    const tool = summary && (await this.#catalog.whole(summary, false));
    if (!bundle || !tool) return undefined;
    return {
      id,
      slug: tool.slug,
      displayName: tool.displayName,
      tags: tool.tags ?? [],
      description: tool.description ?? '',
      bundleSlug: bundle.slug,
      modifiedAt: tool.modifiedAt,
      isEnabled: summary.isEnabled && bundle.isEnabled,
      stamp: stampOf(summary, bundleState(bundle)),
    };
  }
}

const bundleState = (bundle: Bundle): string => `${bundle.slug} ${bundle.isEnabled}`;

function stampOf(summary: ToolSummary, bundle: string): string {
  const { file, whole, isEnabled, modifiedAt } = summary;
  const text = file
    ? `${file.mtimeMs} ${file.size}`
    : JSON.stringify([whole?.displayName, whole?.description, whole?.tags]);
  return `${text} ${modifiedAt} ${isEnabled} ${bundle}`;
}
