import { checkArgumentNames } from './bind-arguments.ts';
import type { CallSite } from './call-sites.ts';
import { resolveFunction, type Resolved } from './resolve-name.ts';
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
  const known = new Map<string, Resolved | undefined>();
  for (const site of sites) {
    const written = `${site.pack ?? ''}.${site.name}`;
    if (!known.has(written)) known.set(written, await resolveSite(site, world));
    const finding = checkSite(site, known.get(written));
    if (finding) return { ...finding, line: site.line };
  }
  return undefined;
}

/** Undefined for what is none of ours. */
async function resolveSite({ pack, name }: CallSite, world: World): Promise<Resolved | undefined> {
  if (pack === undefined && !(await isCallable(world, name))) return undefined;
  return resolveFunction(world, pack, name);
}

function checkSite(site: CallSite, resolved: Resolved | undefined): { type: string; message: string } | undefined {
  if (!resolved) return undefined;
  if ('error' in resolved) return resolved.error;
  const problem = checkArgumentNames(resolved.info, site.positional, site.keywords, site.isPartial);
  return problem === undefined ? undefined : { type: 'TypeError', message: problem };
}

/** Other bare names may be builtins of the interpreter: they are left to it. */
async function isCallable(world: World, name: string): Promise<boolean> {
  if (world.aliases && Object.hasOwn(world.aliases, name)) return true;
  return (await world.bare?.(name)) !== undefined;
}
