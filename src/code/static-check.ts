import { checkArgumentNames } from './bind-arguments.ts';
import type { CallSite } from './call-sites.ts';
import { resolveFunction, resolvePack, unknownPack } from './resolve-name.ts';
import type { World } from './world.ts';

/** Something that is certain to fail, found before anything ran. */
export interface Finding {
  type: string;
  message: string;
  line: number;
}

/**
 * Finds calls that cannot work whatever the values are: unknown packs and functions, misspelt or missing arguments.
 * Only packs that the program names are looked up.
 */
export async function staticCheck(sites: readonly CallSite[], world: World): Promise<Finding | undefined> {
  for (const site of sites) {
    const finding = await checkSite(site, world);
    if (finding) return { ...finding, line: site.line };
  }
  return undefined;
}

async function checkSite(site: CallSite, world: World): Promise<{ type: string; message: string } | undefined> {
  const { pack, name } = site;
  if (pack === undefined && !(await isCallable(world, name))) return undefined;
  if (pack !== undefined && !(await resolvePack(world, pack)))
    return { type: 'NameError', message: await unknownPack(world, pack) };
  const resolved = await resolveFunction(world, pack, name);
  if ('error' in resolved) return resolved.error;
  const problem = checkArgumentNames(resolved.info, site.positional, site.keywords, site.isPartial);
  return problem === undefined ? undefined : { type: 'TypeError', message: problem };
}

/** Other bare names may be builtins of the interpreter: they are left to it. */
async function isCallable(world: World, name: string): Promise<boolean> {
  if (world.aliases && Object.hasOwn(world.aliases, name)) return true;
  return (await world.bare?.(name)) !== undefined;
}
