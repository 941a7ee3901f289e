import { Type } from 'typebox';
import { demandCatalogAdmin, demandLevel, reachesBundle } from '../auth/index.ts';
import type { Catalog, ToolSummary } from '../catalog/index.ts';
import {
  BundleBody,
  check,
  fail,
  parseUuid7,
  type Actor,
  type Bundle,
  type Tool,
  type ToolView,
} from '../schema/index.ts';
import type { Sources } from './gate.ts';
import { checkBundleBody, checkToolBody } from './tool-body.ts';
import type { ToolViews } from './tool-views.ts';

export interface ToolKey {
  bundleID: string;
  slug: string;
  version: string;
}

/** Every change to the catalog, and reading one thing of it. Order of checks: level, found, read-only, body, conflict. */
export interface CatalogGate {
  putBundle(actor: Actor, bundleID: string, body: unknown): Promise<{ bundle: Bundle; isNew: boolean }>;
  patchBundle(actor: Actor, bundleID: string, body: unknown): Promise<Bundle>;
  deleteBundle(actor: Actor, bundleID: string): Promise<void>;
  putTool(actor: Actor, key: ToolKey, body: unknown): Promise<ToolView>;
  patchTool(actor: Actor, key: ToolKey, body: unknown): Promise<ToolView>;
  deleteTool(actor: Actor, key: ToolKey): Promise<void>;
  getTool(actor: Actor, key: ToolKey): Promise<ToolView>;
}

/** The same for imports, which bring many tools and make one record of them all. */
export interface BulkGate extends CatalogGate {
  /** As putTool, for whoever does not want to see what was stored. */
  storeTool(actor: Actor, key: ToolKey, body: unknown): Promise<void>;
}

const Switch = Type.Object({ isEnabled: Type.Boolean() }, { additionalProperties: false });

export function catalogGate(catalog: Catalog, views: ToolViews, sources: Sources): BulkGate {
  const bundleOf = async (actor: Actor, rawId: string): Promise<Bundle> => {
    const id = parseUuid7(rawId);
    const bundle = id === undefined ? undefined : await catalog.find(() => catalog.bundle(id));
    if (!bundle || !reachesBundle(actor, bundle.slug)) throw fail('bundle.not_found', { ref: rawId });
    return bundle;
  };

  const demandStored = (bundle: Bundle): void => {
    if (bundle.isBuiltIn) throw fail('builtin.read_only', { bundle: bundle.slug });
    if (bundle.isManaged) throw fail('bundle.managed', { bundle: bundle.slug, kind: bundle.kind });
  };

  /** On built-in and managed bundles anything but the switch is refused as read-only, not as a bad body. */
  const readSwitch = (bundle: Bundle, body: unknown): boolean => {
    try {
      return check(Switch, body).isEnabled;
    } catch (error) {
      demandStored(bundle);
      throw error;
    }
  };

  const view = async (bundle: Bundle, { slug, version }: ToolKey): Promise<ToolView> => {
    const summary = await catalog.find(() => catalog.summary(bundle.id, slug, version));
    const seen = summary && (await views.see(summary));
    if (!seen) throw fail('tool.not_found', { ref: `${slug} version ${version}` });
    return seen.view;
  };

  const storeTool = async (
    actor: Actor,
    key: ToolKey,
    raw: unknown,
  ): Promise<{ bundle: Bundle; summary: ToolSummary }> => {
    demandCatalogAdmin(actor, 'Storing a tool');
    const bundle = await bundleOf(actor, key.bundleID);
    demandStored(bundle);
    const body = checkToolBody(key.slug, key.version, raw);
    const source = sources[body.type === 'go' ? 'function' : body.type];
    if (!source) throw fail('type.unsupported', { type: body.type });
    await source.check({ ...body, ...key, bundleID: bundle.id } as Tool);
    return { bundle, summary: await catalog.writer.createTool(bundle.id, key.slug, key.version, body) };
  };

  return {
    async putBundle(actor, rawId, body) {
      demandCatalogAdmin(actor, 'Changing a bundle');
      const id = parseUuid7(rawId);
      const current = id === undefined ? undefined : catalog.bundle(id);
      if (current && !reachesBundle(actor, current.slug)) throw fail('bundle.not_found', { ref: rawId });
      if (current) demandStored(current);
      if (id === undefined)
        throw fail(
          'request.invalid',
          { reason: `/bundleID must be a UUIDv7 (${rawId.slice(0, 64)})` },
          {
            details: [{ path: '/bundleID', message: 'must be a UUIDv7' }],
          },
        );
      const checked = check(BundleBody, body);
      checkBundleBody(checked);
      if (!reachesBundle(actor, checked.slug))
        throw fail('scope.denied', { message: `This token does not reach a bundle with the slug ${checked.slug}.` });
      return catalog.writer.putBundle(id, checked);
    },

    async patchBundle(actor, rawId, body) {
      demandCatalogAdmin(actor, 'Changing a bundle');
      const bundle = await bundleOf(actor, rawId);
      return catalog.writer.switchBundle(bundle.id, readSwitch(bundle, body));
    },

    async deleteBundle(actor, rawId) {
      demandCatalogAdmin(actor, 'Deleting a bundle');
      const bundle = await bundleOf(actor, rawId);
      demandStored(bundle);
      await catalog.writer.deleteBundle(bundle.id);
    },

    async putTool(actor, key, raw) {
      const { bundle, summary } = await storeTool(actor, key, raw);
      return views.seeKept(summary)?.view ?? view(bundle, key);
    },

    async storeTool(actor, key, raw) {
      await storeTool(actor, key, raw);
    },

    async patchTool(actor, key, body) {
      demandCatalogAdmin(actor, 'Changing a tool');
      const bundle = await bundleOf(actor, key.bundleID);
      await view(bundle, key);
      const isEnabled = readSwitch(bundle, body);
      await catalog.writer.switchTool(bundle.id, key.slug, key.version, isEnabled);
      return view(bundle, key);
    },

    async deleteTool(actor, key) {
      demandCatalogAdmin(actor, 'Deleting a tool');
      const bundle = await bundleOf(actor, key.bundleID);
      if (bundle.kind !== 'stored') {
        await view(bundle, key);
        demandStored(bundle);
      }
      await catalog.writer.deleteTool(bundle.id, key.slug, key.version);
    },

    async getTool(actor, key) {
      demandLevel(actor, 'read', 'Reading a tool');
      return view(await bundleOf(actor, key.bundleID), key);
    },
  };
}
