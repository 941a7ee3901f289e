import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, newUuid, toolName, type Bundle, type BundleBody, type ToolBody } from '../schema/index.ts';
import { removeFile } from '../store/index.ts';
import type { Catalog } from './catalog.ts';
import { switchesPath } from './news-of-others.ts';
import type { OfferedCatalog } from './offered-catalog.ts';
import type { StoredCatalog } from './stored-catalog.ts';
import {
  bundleFileName,
  bundlePath,
  schemaVersion,
  toBundle,
  toolPath,
  toText,
  type BundleFile,
  type ToolFile,
} from './stored-files.ts';
import type { ToolSummary } from './tool-summary.ts';

const reapAfterMs = 48 * 3600_000;

/** Every change to the catalog's files and switches, each checked against the newest state under the lock. */
export class CatalogWriter {
  readonly #folder: string;
  readonly #catalog: Catalog;
  readonly #stored: StoredCatalog;
  readonly #offered: OfferedCatalog;

  constructor(folder: string, catalog: Catalog, stored: StoredCatalog, offered: OfferedCatalog) {
    this.#folder = folder;
    this.#catalog = catalog;
    this.#stored = stored;
    this.#offered = offered;
  }

  /** Creates, replaces or revives a stored bundle. */
  async putBundle(id: string, body: BundleBody): Promise<{ bundle: Bundle; isNew: boolean }> {
    const path = bundlePath(id);
    return this.#stored.change({
      paths: [path],
      apply: async () => {
        const old = this.#stored.records.bundles.get(id);
        const owner = this.#catalog.bundleBySlug(body.slug);
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
        await this.#stored.replace(path, toText(file));
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
      const count = this.#stored.records.filesIn(id);
      if (count > 0)
        throw fail('bundle.not_empty', { bundle: file.slug, count: count === 1 ? '1 tool' : `${count} tools` });
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
        await this.#stored.replace(path, toText(next));
        return toBundle(next);
      },
    });
  }

  /** Stores a new tool version; the file system itself decides who was first. */
  async createTool(bundleID: string, slug: string, version: string, body: ToolBody): Promise<ToolSummary> {
    const path = toolPath(bundleID, slug, version);
    const bundle = this.#storedBundle(bundleID);
    this.#demandEnabled(bundle);
    const now = new Date().toISOString();
    const about = { schemaVersion, id: newUuid(), bundleID, slug, version };
    const file: ToolFile = { ...about, name: this.#nameFor(bundle, slug), ...body, createdAt: now, modifiedAt: now };
    const text = toText(file);
    return this.#stored.create({
      path,
      text,
      name: file.name,
      owner: `${bundleID}/${slug}`,
      check: () => {
        const current = this.#storedBundle(bundleID);
        this.#demandEnabled(current);
        if (this.#nameFor(current, slug) !== file.name)
          throw fail('name.taken', { name: file.name, owner: current.slug });
      },
      placed: (stamp) => this.#stored.tookNew(path, file, text, stamp),
      taken: () => this.#whyTaken(path, slug, version),
    });
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
    const owner = this.#catalog.named(name).find((each) => each.bundleID !== bundle.id || each.slug !== slug);
    if (owner)
      throw fail('name.taken', {
        name,
        owner: `${this.#catalog.bundle(owner.bundleID)?.slug ?? 'a bundle'}/${owner.slug}`,
      });
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
        const summary = this.#catalog.summary(bundleID, slug, version);
        const whole = summary && (await this.#stored.whole(summary));
        if (!whole) throw fail('tool.not_found', { ref: `${slug} version ${version}` });
        this.#demandEnabled(bundle);
        const { isBuiltIn: _, ...file } = whole;
        await this.#stored.replace(path, toText({ ...file, isEnabled }));
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
        this.#catalog.refreshOffers();
      },
    });
  }

  #path(path: string): string {
    return join(this.#folder, path);
  }

  /** Removes bundles that were deleted 48 hours ago and whose folder is still empty; stray temp files do not count. */
  async reap(now = Date.now()): Promise<string[]> {
    const isDue = (bundle: BundleFile | undefined): boolean =>
      bundle?.softDeletedAt !== undefined && Date.parse(bundle.softDeletedAt) + reapAfterMs <= now;
    const due = [...this.#stored.records.bundles.values()].filter(isDue);
    const reaped: string[] = [];
    for (const { id } of due) {
      await this.#stored.change({
        paths: [bundlePath(id)],
        apply: async () => {
          if (!isDue(this.#stored.records.bundles.get(id))) return;
          const names = await readdir(this.#path(id));
          if (names.some((name) => name !== bundleFileName && !name.endsWith('.tmp'))) return;
          await this.#stored.removeFolder(id);
          reaped.push(id);
        },
      });
    }
    return reaped;
  }
}
