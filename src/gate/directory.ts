import { reachesBundle } from '../auth/index.ts';
import type { Catalog, ToolSummary } from '../catalog/index.ts';
import {
  functionName,
  packName,
  type Actor,
  type Bundle,
  type Directory,
  type PackEntry,
  type ToolView,
} from '../schema/index.ts';
import type { ToolViews } from './tool-views.ts';

/** How many views are cached: enough for what programs use, not for a whole large catalog. */
const maxViews = 2000;

/** The catalog as programs see it. What was looked up is kept until the catalog changes. */
export function directory(catalog: Catalog, views: ToolViews): Directory {
  let packs: Map<string, KnownPack> | undefined;
  const seen = new Map<ToolSummary, ToolView | Promise<ToolView | undefined>>();
  catalog.onChange(() => {
    packs = undefined;
    seen.clear();
  });

  const all = (): Map<string, KnownPack> =>
    (packs ??= new Map(
      catalog
        .bundles()
        .filter((each) => each.isEnabled)
        .map((each) => [packName(each.slug), new KnownPack(catalog, each)]),
    ));

  /** The newest version that is switched on; when none is, the newest. */
  const look = async (versions: readonly ToolSummary[]): Promise<ToolView | undefined> => {
    let newest: ToolView | undefined;
    for (const summary of versions) {
      const view = (await views.see(summary))?.view;
      if (view?.isEnabled) return view;
      newest ??= view;
    }
    return newest;
  };

  const isInReach = (actor: Actor, pack: KnownPack | undefined): pack is KnownPack =>
    pack !== undefined && reachesBundle(actor, pack.bundle.slug);

  return {
    pack(actor, name) {
      const pack = all().get(name);
      return isInReach(actor, pack) ? pack : undefined;
    },
    packs: (actor) =>
      [...all().values()].filter((pack) => isInReach(actor, pack)).sort((a, b) => (a.name < b.name ? -1 : 1)),
    tool({ name }, fn) {
      const versions = all().get(name)?.versions(fn);
      if (!versions) return undefined;
      const first = versions[0]!;
      const known = seen.get(first);
      if (known) return known;
      if (seen.size >= maxViews) seen.clear();
      const looking: Promise<ToolView | undefined> = look(versions).then((view) => {
        // Unless the catalog has changed meanwhile.
        if (view && seen.get(first) === looking) seen.set(first, view);
        return view;
      });
      seen.set(first, looking);
      return looking;
    },
  };
}

class KnownPack implements PackEntry {
  readonly name: string;
  readonly bundle: Bundle;
  readonly size: number;
  readonly #catalog: Catalog;
  #functions: Map<string, ToolSummary[]> | undefined;
  #names: readonly string[] | undefined;

  constructor(catalog: Catalog, bundle: Bundle) {
    this.name = packName(bundle.slug);
    this.bundle = bundle;
    this.size = catalog.countOf(bundle.id);
    this.#catalog = catalog;
  }

  get functions(): readonly string[] {
    return (this.#names ??= [...this.#known().keys()]);
  }

  versions(fn: string): readonly ToolSummary[] | undefined {
    return this.#known().get(fn);
  }

  #known(): Map<string, ToolSummary[]> {
    if (this.#functions) return this.#functions;
    const functions = new Map<string, ToolSummary[]>();
    for (const summary of this.#catalog.summariesOf(this.bundle.id)) {
      const fn = functionName(summary.slug);
      const versions = functions.get(fn);
      if (versions) versions.push(summary);
      else functions.set(fn, [summary]);
    }
    return (this.#functions = functions);
  }
}
