import { basename, dirname } from 'node:path';
import { reachesBundle } from '../auth/index.ts';
import { bundleFileName, type Catalog } from '../catalog/index.ts';
import { compareText, fail, parseUuid7, ToolBody, type Actor, type Bundle } from '../schema/index.ts';
import { zipBundles, type LeftOut, type PackedBundle, type PackedTool } from './bundle-zip.ts';

/** What happens when a file of a bundle cannot be read: the export is refused, or says in its list what is not in it. */
export type DamagePolicy = 'fail' | 'skip';

const bodyFields = Object.keys(ToolBody.properties);

/** As `Exchange.export`, for an actor whose level was looked at. */
export async function exportBundles(
  catalog: Catalog,
  actor: Actor,
  bundleIDs: readonly string[],
  policy: DamagePolicy,
): Promise<Uint8Array> {
  const bundles = wantedBundles(catalog, actor, bundleIDs);
  const unread = new Map<string, string>();
  const packed = await Promise.all(bundles.map((bundle) => pack(catalog, bundle, unread)));
  const damaged = damagedFiles(catalog, bundles, bundleIDs.length === 0 && actor.bundles === undefined);
  const leftOut = [...new Map([...unread, ...damaged])].map(([file, reason]): LeftOut => {
    const bundle = catalog.bundle(dirname(file))?.slug;
    return { ...(bundle !== undefined && { bundle }), file, reason };
  });
  if (leftOut.length > 0 && policy === 'fail') throw refusal(leftOut);
  return zipBundles(packed, leftOut);
}

function wantedBundles(catalog: Catalog, actor: Actor, bundleIDs: readonly string[]): Bundle[] {
  const inReach = catalog.bundles().filter((each) => reachesBundle(actor, each.slug));
  if (bundleIDs.length === 0) return inReach.filter((each) => each.kind === 'stored');
  return bundleIDs.map((raw) => {
    const bundle = inReach.find((each) => each.id === parseUuid7(raw));
    if (!bundle) throw fail('bundle.not_found', { ref: raw });
    if (bundle.kind !== 'stored')
      throw fail('request.invalid', {
        reason: `bundle ${bundle.slug} comes from ${bundle.kind}, not from the catalog, and cannot be exported`,
      });
    return bundle;
  });
}

async function pack(
  catalog: Catalog,
  { id, slug, displayName, isEnabled, description }: Bundle,
  unread: Map<string, string>,
): Promise<PackedBundle> {
  const tools: PackedTool[] = [];
  // Oldest first, so that the newest version is the newest again where they are taken in.
  const own = catalog.summariesOf(id).sort((a, b) => compareText(a.createdAt, b.createdAt) || compareText(a.id, b.id));
  for (const summary of own) {
    const whole = (await catalog.whole(summary, false)) as Record<string, unknown> | undefined;
    if (whole) {
      const body = bodyFields.filter((field) => whole[field] !== undefined).map((field) => [field, whole[field]]);
      tools.push({ slug: summary.slug, version: summary.version, ...Object.fromEntries(body) });
    } else if (catalog.byId(summary.id)) {
      // It broke a moment ago: those that are known to be damaged have no summary.
      unread.set(summary.file!.path, 'it cannot be read any more');
    }
  }
  return { bundle: { id, slug, displayName, isEnabled, ...(description !== undefined && { description }) }, tools };
}

/** Files with their reasons. Whose bundle.json is damaged nobody can say: only who exports everything is told of it. */
function damagedFiles(catalog: Catalog, bundles: readonly Bundle[], isEverything: boolean): [string, string][] {
  const wanted = new Set(bundles.map((bundle) => bundle.id));
  return [...catalog.corruptFiles].filter(
    ([path]) => wanted.has(dirname(path)) || (isEverything && basename(path) === bundleFileName),
  );
}

function refusal(leftOut: readonly LeftOut[]): Error {
  const [first, ...others] = leftOut.map(({ file }) => file);
  const files = others.length > 0 ? `${first} and ${others.length} more files` : first;
  return fail(
    'tool.corrupt',
    {
      message: `The export would not be whole: ${files} of the catalog cannot be read. Repair or delete what is damaged, or leave it out: damaged=skip, on the command line --damaged skip.`,
    },
    {
      details: leftOut.map(({ bundle, file, reason }) => ({
        path: `/${file}`,
        message: bundle === undefined ? reason : `bundle ${bundle}: ${reason}`,
      })),
    },
  );
}
