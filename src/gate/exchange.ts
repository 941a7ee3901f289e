import { setImmediate as nextTurn } from 'node:timers/promises';
import { demandCatalogAdmin, demandLevel } from '../auth/index.ts';
import type { Catalog } from '../catalog/index.ts';
import { fail, Failure, parseUuid7, type Actor, type Bundle } from '../schema/index.ts';
import { exportBundles, type DamagePolicy } from './bundle-export.ts';
import { unzipBundles, type PackedBundle, type PackedTool } from './bundle-zip.ts';
import type { BulkGate, ToolKey } from './catalog-gate.ts';

/** What happens to a tool version that exists already: nothing, or the whole import is refused. */
export type ConflictPolicy = 'skip' | 'fail';

export interface ImportReport {
  bundles: { created: number; skipped: number };
  tools: { created: number; skipped: number };
  /** `bundle/tool version`, for what was left alone. */
  skipped: string[];
}

/** Bundles out of and into the catalog as one file. Servers, packs, tokens, secrets and built-ins never travel. */
export interface Exchange {
  /** Stored bundles in the actor's reach, or those named; 404 for what it does not reach, 409 for what cannot be read. */
  export(actor: Actor, bundleIDs: readonly string[], policy: DamagePolicy): Promise<Uint8Array>;
  /** All or nothing: what an import made is taken back when a later part of it is refused. */
  import(actor: Actor, zip: Uint8Array, policy: ConflictPolicy): Promise<ImportReport>;
  /** The same for bundles that are at hand already. */
  take(actor: Actor, bundles: readonly PackedBundle[], policy: ConflictPolicy): Promise<ImportReport>;
}

const storeAtOnce = 512;
const turnMs = 2;
const serverFields = new Set([
  'id',
  'slug',
  'version',
  'name',
  'bundleID',
  'bundleSlug',
  'createdAt',
  'modifiedAt',
  'schemaVersion',
  'isBuiltIn',
  'usage',
  'level',
]);

/** What all imports have in common. */
interface Setting {
  catalog: Catalog;
  gate: BulkGate;
  underWay: Set<Promise<void>>;
}

export function exchange(catalog: Catalog, gate: BulkGate): Exchange {
  const setting: Setting = { catalog, gate, underWay: new Set() };
  return {
    async export(actor, bundleIDs, policy) {
      demandLevel(actor, 'read', 'Exporting bundles');
      return exportBundles(catalog, actor, bundleIDs, policy);
    },
    async import(actor, zip, policy) {
      demandCatalogAdmin(actor, 'Importing bundles');
      return new Import(setting, actor, policy).run(await unzipBundles(zip));
    },
    async take(actor, bundles, policy) {
      demandCatalogAdmin(actor, 'Importing tools');
      return new Import(setting, actor, policy).run(bundles);
    },
  };
}

/** One import under way; remembers what it made. */
class Import {
  readonly #catalog: Catalog;
  readonly #gate: BulkGate;
  readonly #actor: Actor;
  readonly #policy: ConflictPolicy;
  /** Tools that are on their way to the disk, of all imports together. */
  readonly #underWay: Set<Promise<void>>;
  readonly #made: { tools: ToolKey[]; bundles: string[] } = { tools: [], bundles: [] };
  readonly #report: ImportReport = {
    bundles: { created: 0, skipped: 0 },
    tools: { created: 0, skipped: 0 },
    skipped: [],
  };

  constructor({ catalog, gate, underWay }: Setting, actor: Actor, policy: ConflictPolicy) {
    this.#catalog = catalog;
    this.#gate = gate;
    this.#underWay = underWay;
    this.#actor = actor;
    this.#policy = policy;
  }

  async run(bundles: readonly PackedBundle[]): Promise<ImportReport> {
    // A conflict that can be seen beforehand is answered before anything is written.
    if (this.#policy === 'fail') for (const each of bundles) await this.#demandNoConflict(each);
    try {
      for (const each of bundles) await this.#takeBundle(each);
    } catch (error) {
      await this.#undo();
      throw error;
    }
    return this.#report;
  }

  async #demandNoConflict({ bundle, tools }: PackedBundle): Promise<void> {
    const owner = this.#catalog.bundleBySlug(bundle.slug);
    if (owner && owner.id !== parseUuid7(bundle.id)) throw fail('bundle.exists', { slug: bundle.slug });
    if (!owner) return;
    const pause = inTurns();
    for (const { slug, version } of tools) {
      await pause();
      if (this.#catalog.summary(owner.id, slug, version)) throw isThereAlready(`${bundle.slug}/${slug} ${version}`);
    }
  }

  async #takeBundle({ bundle, tools }: PackedBundle): Promise<void> {
    const { id, ...body } = bundle;
    const there = this.#catalog.bundle(parseUuid7(id) ?? id) ?? this.#catalog.bundleBySlug(bundle.slug);
    if (there) this.#report.bundles.skipped++;
    const target = there ?? (await this.#makeBundle(id, body));
    await this.#takeTools(target, tools);
    // Tools enter only a bundle that is on, so a new one is switched off last.
    if (!there && body['isEnabled'] === false)
      await this.#gate.patchBundle(this.#actor, target.id, { isEnabled: false });
  }

  /** Writes many at once but checks only a few per turn of the event loop; versions of one tool keep their order. */
  async #takeTools(bundle: Bundle, tools: Iterable<PackedTool>): Promise<void> {
    const storing = new Map<string, Promise<void>>();
    const problems: unknown[] = [];
    const pause = inTurns();
    try {
      for (const tool of tools) {
        await pause();
        await storing.get(tool.slug);
        while (this.#underWay.size >= storeAtOnce) await this.#underWay.values().next().value;
        if (problems.length > 0) break;
        const stored = this.#takeTool(bundle, tool)
          .catch((error: unknown) => void problems.push(error))
          .then(() => {
            storing.delete(tool.slug);
            this.#underWay.delete(stored);
          });
        storing.set(tool.slug, stored);
        this.#underWay.add(stored);
      }
    } catch (error) {
      problems.push(error);
    }
    await Promise.all(storing.values());
    if (problems.length > 0) throw problems[0];
  }

  async #makeBundle(id: string, body: Record<string, unknown>): Promise<Bundle> {
    const isEnabled = body['isEnabled'] === false ? true : body['isEnabled'];
    const { bundle } = await this.#gate.putBundle(this.#actor, id, { ...body, isEnabled });
    this.#made.bundles.push(bundle.id);
    this.#report.bundles.created++;
    return bundle;
  }

  async #takeTool(bundle: Bundle, packedTool: PackedTool): Promise<void> {
    const { slug, version } = packedTool;
    const key = { bundleID: bundle.id, slug, version };
    const body = Object.fromEntries(Object.entries(packedTool).filter(([field]) => !serverFields.has(field)));
    try {
      await this.#gate.storeTool(this.#actor, key, body);
      this.#made.tools.push(key);
      this.#report.tools.created++;
    } catch (error) {
      const isThere = error instanceof Failure && (error.code === 'tool.exists' || error.code === 'name.taken');
      if (!isThere || this.#policy === 'fail') throw inFile(error, `${bundle.slug}/${slug} ${version}`);
      this.#report.tools.skipped++;
      this.#report.skipped.push(`${bundle.slug}/${slug} ${version}`);
    }
  }

  async #undo(): Promise<void> {
    for (const key of this.#made.tools.toReversed()) await this.#gate.deleteTool(this.#actor, key).catch(() => {});
    for (const id of this.#made.bundles.toReversed()) await this.#gate.deleteBundle(this.#actor, id).catch(() => {});
  }
}

/** Gives others a turn when this one has lasted long enough. */
function inTurns(): () => Promise<void> | undefined {
  let since = performance.now();
  return () =>
    performance.now() - since < turnMs ? undefined : nextTurn().then(() => void (since = performance.now()));
}

const isThereAlready = (place: string): Failure =>
  fail('tool.exists', {
    message: `${place} exists already, so nothing was imported. Import with the conflict policy skip to keep what is there.`,
  });

/** Says which of many tools a refusal is about. */
function inFile(error: unknown, place: string): unknown {
  if (!(error instanceof Failure)) return error;
  return fail(error.code, { message: `${place}: ${error.message}` }, { details: error.details, cause: error });
}
