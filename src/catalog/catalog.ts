import { join } from 'node:path';
import { fail, type Bundle, type BundleProvider, type Tool } from '../schema/index.ts';
import type { Database, Home } from '../store/index.ts';
import { CatalogWriter } from './catalog-writer.ts';
import { OfferedCatalog, type OfferedEntry } from './offered-catalog.ts';
import { StoredCatalog } from './stored-catalog.ts';
import { toBundle, toolPath, type BundleFile } from './stored-files.ts';
import type { Change } from './stored-records.ts';
import { compareSummaries, type OrderKey, type ToolSummary } from './tool-summary.ts';

export interface CatalogOptions {
  home: Home;
  db: Database;
  providers: BundleProvider[];
  onCorrupt: (path: string, reason: string) => void;
  /** Something that nobody waited for failed; it is tried again with what comes next. */
  onTrouble: (error: unknown) => void;
}

/** What changed, for the search index and for menus. */
export type CatalogChange =
  | { kind: 'tools'; put: ToolSummary[]; gone: ToolSummary[] }
  /** Without ids: any of them. */
  | { kind: 'bundles'; ids?: string[] };

/** Which bundles and tools exist, in which version, switched on or off; stored ones and offered ones as one. */
export class Catalog {
  readonly #listeners = new Set<(change: CatalogChange) => void>();
  readonly #onTrouble: CatalogOptions['onTrouble'];
  #stored!: StoredCatalog;
  #offered!: OfferedCatalog;
  #writer!: CatalogWriter;
  #unsubscribe: (() => void)[] = [];

  private constructor({ onTrouble }: CatalogOptions) {
    this.#onTrouble = onTrouble;
  }

  static async open(options: CatalogOptions): Promise<Catalog> {
    const self = new Catalog(options);
    const { home, db, providers } = options;
    self.#stored = await StoredCatalog.open({
      folder: home.catalog,
      recordsPath: join(home.run, 'catalog-records'),
      cachePath: join(home.run, 'catalog-cache.db'),
      lockPath: join(home.run, 'catalog.lock'),
      changesPath: join(home.run, 'catalog-changes.db'),
      onChange: (changes) => self.#storedChanged(changes),
      onCorrupt: options.onCorrupt,
      onTrouble: options.onTrouble,
      onSwitches: () => self.refreshOffers(),
    });
    self.#offered = await OfferedCatalog.open(db, providers, self.#isTaken);
    self.#writer = new CatalogWriter(home.catalog, self, self.#stored, self.#offered);
    self.#unsubscribe = providers.map((provider) => provider.onChange(() => self.refreshOffers()));
    return self;
  }

  /** How it is changed. */
  get writer(): CatalogWriter {
    return this.#writer;
  }

  onChange(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks packs and servers again what they offer. */
  refreshOffers(): void {
    const before = new Map([...this.#offered.ordered.after()].map((each) => [each.id, each]));
    this.#offered.refresh(this.#isTaken);
    const put = [...this.#offered.ordered.after()];
    for (const each of put) before.delete(each.id);
    this.#tell({ kind: 'tools', put, gone: [...before.values()] });
    this.#tell({ kind: 'bundles' });
  }

  #storedChanged(changes: Change[]): void {
    const put = changes.flatMap((change) => (change.kind === 'tool' ? [change.summary] : []));
    const gone = changes.flatMap((change) => (change.kind === 'tool-gone' ? [change.summary] : []));
    if (put.length + gone.length > 0) this.#tell({ kind: 'tools', put, gone });
    const ids = changes.flatMap((change) => (change.kind === 'bundle' ? [change.id] : []));
    if (ids.length === 0) return;
    this.#tell({ kind: 'bundles', ids });
    // While the catalog is opened, nothing is offered yet.
    if (this.#offered && !this.#offered.fits(this.#isTaken)) this.refreshOffers();
  }

  /** What changed is on disk: a listener that fails is no reason to tell its author otherwise, nor to leave out the next. */
  #tell(change: CatalogChange): void {
    for (const listener of this.#listeners)
      try {
        listener(change);
      } catch (error) {
        this.#onTrouble(error);
      }
  }

  bundles(): Bundle[] {
    const stored = [...this.#stored.records.bundles.values()].filter((each) => !each.softDeletedAt).map(toBundle);
    return [...stored, ...[...this.#offered.entries()].map(({ bundle }) => bundle)];
  }

  bundle(id: string): Bundle | undefined {
    const stored = this.#stored.records.bundles.get(id);
    if (stored) return stored.softDeletedAt ? undefined : toBundle(stored);
    return this.#offered.entry(id)?.bundle;
  }

  bundleBySlug(slug: string): Bundle | undefined {
    const stored = this.#storedBySlug(slug);
    if (stored) return toBundle(stored);
    for (const { bundle } of this.#offered.entries()) if (bundle.slug === slug) return bundle;
    return undefined;
  }

  readonly #isTaken = (slug: string): boolean => this.#storedBySlug(slug) !== undefined;

  #storedBySlug(slug: string): BundleFile | undefined {
    for (const bundle of this.#stored.records.bundles.values())
      if (bundle.slug === slug && !bundle.softDeletedAt) return bundle;
    return undefined;
  }

  /** How the bundle is offered; undefined for stored ones. */
  offer(bundleID: string): OfferedEntry | undefined {
    return this.#offered.entry(bundleID);
  }

  offerLevel(toolId: string): Tool['access'] {
    return this.#offered.level(toolId);
  }

  offerReason(toolId: string): string | undefined {
    return this.#offered.reason(toolId);
  }

  get clashes(): readonly string[] {
    return this.#offered.clashes;
  }

  get corruptFiles(): ReadonlyMap<string, string> {
    return this.#stored.records.corrupt;
  }

  get toolCount(): number {
    return this.#stored.records.toolCount + this.#offered.ordered.size;
  }

  countOf(bundleID: string): number {
    return this.#offered.entry(bundleID)?.summaries.length ?? this.#stored.records.countOf(bundleID);
  }

  /** One exact version; throws tool.corrupt when its file is there but damaged. */
  summary(bundleID: string, slug: string, version: string): ToolSummary | undefined {
    const found = this.#offered.byKey(bundleID, slug, version) ?? this.#stored.records.byKey(bundleID, slug, version);
    if (found || this.#stored.records.corrupt.size === 0) return found;
    const reason = this.#stored.records.corrupt.get(toolPath(bundleID, slug, version));
    if (reason !== undefined) throw fail('tool.corrupt', { ref: `${slug} version ${version}`, reason });
    return undefined;
  }

  byId(id: string): ToolSummary | undefined {
    return this.#offered.byId(id) ?? this.#stored.records.byId(id);
  }

  /** All versions that carry a name, newest first; what code offers cannot be taken over by a file. */
  named(name: string): readonly ToolSummary[] {
    const offered = this.#offered.byName(name);
    return (offered.length > 0 ? [...offered] : [...this.#stored.records.byName(name)]).sort(compareSummaries);
  }

  /** Every tool in list order, from after `key`. */
  *summaries(key?: OrderKey): Generator<ToolSummary> {
    const left = this.#offered.ordered.after(key);
    const right = this.#stored.records.ordered.after(key);
    let a = left.next();
    let b = right.next();
    while (!a.done || !b.done) {
      const takeLeft = b.done || (!a.done && compareSummaries(a.value, b.value) < 0);
      if (takeLeft && !a.done) {
        yield a.value;
        a = left.next();
      } else if (!b.done) {
        yield b.value;
        b = right.next();
      }
    }
  }

  /** All versions of one bundle's tools, in list order. */
  summariesOf(bundleID: string): ToolSummary[] {
    const offered = this.#offered.entry(bundleID)?.summaries;
    return [...(offered ?? this.#stored.records.ofBundle(bundleID))].sort(compareSummaries);
  }

  /** The whole of a tool, if it is in memory. */
  kept(summary: ToolSummary): Tool | undefined {
    return this.#stored.kept(summary);
  }

  /** The whole of a tool, kept for the next who asks unless told otherwise. */
  whole(summary: ToolSummary, isKept = true): Promise<Tool | undefined> {
    return this.#stored.whole(summary, isKept);
  }

  /** What `look` finds here; when that is nothing, what it finds after a look at what other processes have just stored. */
  async find<T>(look: () => T | Promise<T>): Promise<T> {
    const found = await look();
    if (found !== undefined) return found;
    await this.#stored.freshen();
    return look();
  }

  async close(): Promise<void> {
    for (const stop of this.#unsubscribe) stop();
    await this.#stored.close();
  }
}
