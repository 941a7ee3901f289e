import { join } from 'node:path';
import { readdir } from 'node:fs/promises';
import {
  fail,
  newUuid,
  toolName,
  type Bundle,
  type BundleBody,
  type BundleProvider,
  type Tool,
  type ToolBody,
} from '../schema/index.ts';
import { makeFolder, removeFile, stageFile, type Database, type Home } from '../store/index.ts';
import { OfferedCatalog, type OfferedEntry } from './offered-catalog.ts';
import { StoredCatalog, switchesPath } from './stored-catalog.ts';
import {
  bundleFileName,
  bundlePath,
  schemaVersion,
  toolPath,
  toText,
  type BundleFile,
  type ToolFile,
} from './stored-files.ts';
import type { Change } from './stored-records.ts';
import { compareSummaries, type OrderKey, type ToolSummary } from './tool-summary.ts';

export interface CatalogOptions {
  home: Home;
  db: Database;
  providers: BundleProvider[];
  onCorrupt: (path: string, reason: string) => void;
}

/** What changed, for the search index and for menus. */
export type CatalogChange = { kind: 'tools'; put: ToolSummary[]; gone: ToolSummary[] } | { kind: 'bundles' };

const reapAfterMs = 48 * 3600_000;

/** Which bundles and tools exist, in which version, switched on or off; stored ones and offered ones as one. */
export class Catalog {
  readonly #options: CatalogOptions;
  readonly #listeners = new Set<(change: CatalogChange) => void>();
  #stored!: StoredCatalog;
  #offered!: OfferedCatalog;
  #unsubscribe: (() => void)[] = [];

  private constructor(options: CatalogOptions) {
    this.#options = options;
  }

  static async open(options: CatalogOptions): Promise<Catalog> {
    const self = new Catalog(options);
    const { home, db, providers } = options;
    self.#stored = await StoredCatalog.open({
      folder: home.catalog,
      cachePath: join(home.run, 'catalog-cache.db'),
      lockPath: join(home.run, 'catalog.lock'),
      db,
      onChange: (changes) => self.#storedChanged(changes),
      onCorrupt: options.onCorrupt,
      onSwitches: () => self.refreshOffers(),
    });
    self.#offered = await OfferedCatalog.open(db, providers, (slug) => self.#storedBySlug(slug) !== undefined);
    self.#unsubscribe = providers.map((provider) => provider.onChange(() => self.refreshOffers()));
    return self;
  }

  onChange(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks packs and servers again what they offer. */
  refreshOffers(): void {
    const before = new Map([...this.#offered.ordered.after()].map((each) => [each.id, each]));
    this.#offered.refresh((slug) => this.#storedBySlug(slug) !== undefined);
    const put = [...this.#offered.ordered.after()];
    for (const each of put) before.delete(each.id);
    this.#tell({ kind: 'tools', put, gone: [...before.values()] });
    this.#tell({ kind: 'bundles' });
  }

  #storedChanged(changes: Change[]): void {
    const put = changes.flatMap((change) => (change.kind === 'tool' ? [change.summary] : []));
    const gone = changes.flatMap((change) => (change.kind === 'tool-gone' ? [change.summary] : []));
    if (put.length + gone.length > 0) this.#tell({ kind: 'tools', put, gone });
    if (changes.some((change) => change.kind === 'bundle')) this.#tell({ kind: 'bundles' });
  }

  #tell(change: CatalogChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  // --- reading

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

  whole(summary: ToolSummary): Promise<Tool | undefined> {
    return this.#stored.whole(summary);
  }

  // --- changing

  /** Looks for what another process may have added a moment ago; for look-ups that found nothing. */
  async freshen(): Promise<void> {
    await this.#stored.freshen();
  }

  /** Creates, replaces or revives a stored bundle. */
  async putBundle(id: string, body: BundleBody): Promise<{ bundle: Bundle; isNew: boolean }> {
    const path = bundlePath(id);
    return this.#stored.change({
      paths: [path],
      apply: async () => {
        const old = this.#stored.records.bundles.get(id);
        const owner = this.bundleBySlug(body.slug);
        if (owner && owner.id !== id) throw fail('bundle.exists', { slug: body.slug });
        const now = new Date().toISOString();
        const file: BundleFile = {
          schemaVersion,
          id,
          slug: body.slug,
          displayName: body.displayName,
          isEnabled: body.isEnabled,
          ...(body.description !== undefined && { description: body.description }),
          createdAt: old?.createdAt ?? now,
          modifiedAt: now,
        };
        await makeFolder(this.#path(id));
        await this.#replace(path, file);
        return { bundle: toBundle(file), isNew: old === undefined };
      },
    });
  }

  async switchBundle(id: string, isEnabled: boolean): Promise<Bundle> {
    if (this.#offered.entry(id)) {
      await this.#setSwitch(id, isEnabled);
      return this.#offered.entry(id)!.bundle;
    }
    return this.#changeBundle(id, (file) => ({ ...file, isEnabled }));
  }

  /** Marks a bundle as deleted; refused while it holds tools. */
  async deleteBundle(id: string): Promise<void> {
    await this.#changeBundle(id, (file) => {
      const count = this.#stored.records.pathsOf(id).length - 1;
      if (count > 0) throw fail('bundle.not_empty', { bundle: file.slug, count });
      return { ...file, softDeletedAt: new Date().toISOString() };
    });
  }

  async #changeBundle(id: string, change: (file: BundleFile) => BundleFile): Promise<Bundle> {
    const path = bundlePath(id);
    return this.#stored.change({
      paths: [path],
      apply: async () => {
        const file = this.#stored.records.bundles.get(id);
        if (!file || file.softDeletedAt) throw fail('bundle.not_found', { ref: id });
        const next = change(file);
        await this.#replace(path, next);
        return toBundle(next);
      },
    });
  }

  /** Stores a new tool version; the file system itself decides who was first. */
  async createTool(bundleID: string, slug: string, version: string, body: ToolBody): Promise<Tool> {
    const path = toolPath(bundleID, slug, version);
    const bundle = this.#storedBundle(bundleID);
    this.#demandEnabled(bundle);
    const now = new Date().toISOString();
    const about = { schemaVersion, id: newUuid(), bundleID, slug, version };
    const file: ToolFile = { ...about, name: this.#nameFor(bundle, slug), ...body, createdAt: now, modifiedAt: now };
    const text = toText(file);
    // Written and synced before the lock is taken, so that writers wait for each other's rename only.
    const staged = await stageFile(this.#options.home.catalog, text);
    try {
      return await this.#stored.change({
        paths: [path],
        apply: async () => {
          const current = this.#storedBundle(bundleID);
          this.#demandEnabled(current);
          if (this.#nameFor(current, slug) !== file.name) throw fail('name.taken', { name: file.name, owner: current.slug });
          if (!(await staged.create(this.#path(path)))) throw this.#whyTaken(path, slug, version);
          await this.#stored.took(path, text);
          return { ...file, isBuiltIn: false };
        },
      });
    } catch (error) {
      await staged.discard();
      throw error;
    }
  }

  #whyTaken(path: string, slug: string, version: string): Error {
    const reason = this.#stored.records.corrupt.get(path);
    return reason === undefined
      ? fail('tool.exists', { slug, version })
      : fail('tool.corrupt', { ref: `${slug} version ${version}`, reason });
  }

  /** A tool's name is made once: other versions of the slug keep it, also when the bundle's slug changed since. */
  #nameFor(bundle: BundleFile, slug: string): string {
    const sibling = this.#stored.records.nameOf(bundle.id, slug);
    if (sibling !== undefined) return sibling;
    const name = toolName(bundle.slug, slug);
    const owner = this.named(name).find((each) => each.bundleID !== bundle.id || each.slug !== slug);
    if (owner) throw fail('name.taken', { name, owner: `${this.bundle(owner.bundleID)?.slug ?? 'a bundle'}/${owner.slug}` });
    return name;
  }

  async switchTool(bundleID: string, slug: string, version: string, isEnabled: boolean): Promise<ToolSummary> {
    const offered = this.#offered.byKey(bundleID, slug, version);
    if (offered) {
      this.#demandEnabled(this.#offered.entry(bundleID)!.bundle);
      await this.#setSwitch(offered.id, isEnabled);
      return this.#offered.byKey(bundleID, slug, version)!;
    }
    const path = toolPath(bundleID, slug, version);
    return this.#stored.change({
      paths: [path],
      apply: async () => {
        const bundle = this.#storedBundle(bundleID);
        const summary = this.summary(bundleID, slug, version);
        const whole = summary && (await this.#stored.whole(summary));
        if (!whole) throw fail('tool.not_found', { ref: `${slug} version ${version}` });
        this.#demandEnabled(bundle);
        const { isBuiltIn: _, ...file } = whole;
        await this.#replace(path, { ...file, isEnabled });
        return this.#stored.records.byKey(bundleID, slug, version)!;
      },
    });
  }

  /** Removes a tool version for good, a damaged one too. */
  async deleteTool(bundleID: string, slug: string, version: string): Promise<void> {
    const path = toolPath(bundleID, slug, version);
    await this.#stored.change({
      paths: [path],
      apply: async () => {
        this.#storedBundle(bundleID);
        if (!(await removeFile(this.#path(path)))) throw fail('tool.not_found', { ref: `${slug} version ${version}` });
        this.#stored.gone([path]);
      },
    });
  }

  #storedBundle(id: string): BundleFile {
    const bundle = this.#stored.records.bundles.get(id);
    if (!bundle || bundle.softDeletedAt) throw fail('bundle.not_found', { ref: id });
    return bundle;
  }

  #demandEnabled(bundle: { slug: string; isEnabled: boolean }): void {
    if (!bundle.isEnabled) throw fail('bundle.disabled', { bundle: bundle.slug });
  }

  async #setSwitch(id: string, isEnabled: boolean): Promise<void> {
    await this.#stored.change({
      paths: [switchesPath],
      apply: async () => {
        await this.#offered.setSwitch(id, isEnabled);
        this.refreshOffers();
      },
    });
  }

  async #replace(path: string, file: object): Promise<void> {
    const text = toText(file);
    await (await stageFile(this.#options.home.catalog, text)).replace(this.#path(path));
    await this.#stored.took(path, text);
  }

  #path(path: string): string {
    return join(this.#options.home.catalog, path);
  }

  /** Removes bundles that were deleted 48 hours ago and whose folder is still empty; stray temp files do not count. */
  async reap(now = Date.now()): Promise<string[]> {
    const due = [...this.#stored.records.bundles.values()].filter(
      (each) => each.softDeletedAt && Date.parse(each.softDeletedAt) + reapAfterMs <= now,
    );
    const reaped: string[] = [];
    for (const { id } of due) {
      await this.#stored.change({
        paths: [bundlePath(id)],
        apply: async () => {
          const current = this.#stored.records.bundles.get(id);
          if (!current?.softDeletedAt) return;
          const names = await readdir(this.#path(id));
          if (names.some((name) => name !== bundleFileName && !name.endsWith('.tmp'))) return;
          await this.#stored.removeFolder(id);
          reaped.push(id);
        },
      });
    }
    return reaped;
  }

  async close(): Promise<void> {
    for (const stop of this.#unsubscribe) stop();
    await this.#stored.close();
  }
}

function toBundle(file: BundleFile): Bundle {
  return { ...file, isBuiltIn: false, isManaged: false, kind: 'stored' };
}
