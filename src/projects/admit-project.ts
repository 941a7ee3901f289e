import { isHostEntry } from '../config/index.ts';
import { fail, reaches, reachesBundle, type Actor, type Settings } from '../schema/index.ts';
import type { ProjectRow, ProjectWish } from '../store/index.ts';

/** Bundles that every project's sessions may use unless the project says otherwise. */
export const defaultBundles: readonly string[] = ['ot', 'text', 'data', 'clock', 'calc', 'demo'];

const adminOnly = (actor: Actor, what: string): void => {
  if (!reaches(actor.level, 'admin'))
    throw fail('scope.denied', { tool: `A project with ${what}`, need: 'admin', have: actor.level });
};

export interface Admission {
  settings: Settings;
  knownBundles: readonly string[];
  /** The project of the session that asks, when one does: what it makes cannot have more. */
  own?: ProjectRow;
}

/** Checks what a project asks for against who asks; throws scope.denied or request.invalid. Answers what is stored. */
export function admitWish(actor: Actor, wish: ProjectWish, { settings, knownBundles, own }: Admission): ProjectWish {
  if (wish.secrets.length > 0) adminOnly(actor, 'secrets');
  if ((wish.sandbox.egress ?? []).length > 0) adminOnly(actor, 'egress');
  const nowhere = wish.sandbox.egress?.find((host) => !isHostEntry(host));
  if (nowhere !== undefined)
    throw fail('request.invalid', {
      reason: `egress cannot hold ${nowhere}: write a host, *.host, host:port or CIDR, without http:// and path`,
    });
  if (wish.sandbox.image !== undefined) adminOnly(actor, 'an image of its own');
  if (wish.sandbox.level === 'basic' && settings.sandbox.level === 'strict') adminOnly(actor, 'a weaker sandbox');
  const reserved = Object.keys(wish.env).find((name) => name.startsWith('OUBLIETTE_'));
  if (reserved !== undefined)
    throw fail('request.invalid', {
      reason: `env cannot set ${reserved}: names that begin with OUBLIETTE_ are the server's own`,
    });
  const agent = wish.agent;
  if (agent !== undefined && agent !== 'embedded' && !settings.agents.known[agent])
    throw fail('request.invalid', {
      reason: `agent ${agent} is not configured; known are ${['embedded', ...Object.keys(settings.agents.known)].join(', ')}`,
    });
  for (const bundle of wish.bundles ?? []) {
    if (!knownBundles.includes(bundle))
      throw fail('request.invalid', {
        reason: `there is no bundle ${bundle} that a project can grant; these can be: ${knownBundles.join(', ')}`,
      });
    if (!reachesBundle(actor, bundle))
      throw fail('scope.denied', { message: `This token does not reach bundle ${bundle} and cannot grant it.` });
  }
  return own ? within(wish, own, settings) : wish;
}

/** What a session makes is never wider than its own project. */
function within(wish: ProjectWish, own: ProjectRow, settings: Settings): ProjectWish {
  const most = limitsOf(own.wish, settings);
  const refuse = (what: string): never => {
    throw fail('scope.denied', {
      message: `A session cannot make a project with more ${what} than its own project has.`,
    });
  };
  for (const key of ['depth', 'agents', 'cost_usd'] as const) if ((wish.limits[key] ?? 0) > most[key]) refuse(key);
  const theirs = own.wish.bundles ?? defaultBundles;
  if (wish.bundles?.some((bundle) => !theirs.includes(bundle))) refuse('bundles');
  if (wish.secrets.some((name) => !own.wish.secrets.includes(name))) refuse('secrets');
  if (wish.sandbox.egress?.some((host) => !(own.wish.sandbox.egress ?? []).includes(host))) refuse('egress');
  if (wish.sandbox.image !== undefined && wish.sandbox.image !== own.wish.sandbox.image) refuse('images');
  if (wish.sandbox.level === 'basic' && levelOf(own.wish, settings) === 'strict') refuse('freedom');
  return {
    ...wish,
    limits: { ...most, ...wish.limits },
    bundles: wish.bundles ?? [...theirs],
    sandbox: { ...wish.sandbox, level: wish.sandbox.level ?? levelOf(own.wish, settings) },
  };
}

export function limitsOf(wish: ProjectWish, settings: Settings): { depth: number; agents: number; cost_usd: number } {
  return {
    depth: wish.limits.depth ?? settings.limits.depth,
    agents: wish.limits.agents ?? settings.limits.agents,
    cost_usd: wish.limits.cost_usd ?? settings.limits.costUsd,
  };
}

export function levelOf(wish: ProjectWish, settings: Settings): 'basic' | 'strict' {
  return wish.sandbox.level ?? settings.sandbox.level;
}
