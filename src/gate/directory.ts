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

interface Known {
  entry: PackEntry;
  functions: Map<string, ToolSummary[]>;
  views: Map<string, Promise<ToolView | undefined>>;
}

/** The catalog as programs see it. What was looked up is kept until the catalog changes. */
export function directory(catalog: Catalog, views: ToolViews): Directory {
  let packs: Map<string, Bundle> | undefined;
  const known = new Map<string, Known>();
  catalog.onChange(() => {
    packs = undefined;
    known.clear();
  });

  const all = (): Map<string, Bundle> =>
    (packs ??= new Map(
      catalog
        .bundles()
        .filter((each) => each.isEnabled)
        .map((each) => [packName(each.slug), each]),
    ));

  const know = (name: string, bundle: Bundle): Known => {
    const found = known.get(name);
    if (found) return found;
    const functions = new Map<string, ToolSummary[]>();
    for (const summary of catalog.summariesOf(bundle.id)) {
      const fn = functionName(summary.slug);
      const versions = functions.get(fn);
      if (versions) versions.push(summary);
      else functions.set(fn, [summary]);
    }
    const made: Known = {
      entry: { name, bundle, functions: [...functions.keys()], enabledCount: countEnabled(functions) },
      functions,
      views: new Map(),
    };
    known.set(name, made);
    return made;
  };

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

  const isSeen = (actor: Actor, bundle: Bundle | undefined): bundle is Bundle =>
    bundle !== undefined && reachesBundle(actor, bundle.slug);

  return {
    pack(actor, name) {
      const bundle = all().get(name);
      return isSeen(actor, bundle) ? know(name, bundle).entry : undefined;
    },
    packs: (actor) =>
      [...all()]
        .filter(([, bundle]) => isSeen(actor, bundle))
        .map(([name, bundle]) => know(name, bundle).entry)
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    tool(pack, fn) {
      const of = know(pack.name, pack.bundle);
      const versions = of.functions.get(fn);
      if (!versions) return Promise.resolve(undefined);
      let view = of.views.get(fn);
      if (!view) {
        view = look(versions);
        of.views.set(fn, view);
      }
      return view;
    },
  };
}

function countEnabled(functions: ReadonlyMap<string, readonly ToolSummary[]>): number {
  let count = 0;
  for (const versions of functions.values()) if (versions.some(({ isEnabled }) => isEnabled)) count++;
  return count;
}
