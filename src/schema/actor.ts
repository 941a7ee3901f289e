import { fail } from './errors.ts';
import type { Level } from './level.ts';

/** The way a call came in. */
export type Door = 'rest' | 'mcp' | 'socket' | 'cli' | 'web';

/**
 * Whoever asks. A door makes it from the connection, never from the payload, and hands it on as a parameter.
 * Absent `projects` or `bundles` mean "not narrowed"; an empty list means "none".
 */
export interface Actor {
  readonly kind: 'token' | 'session' | 'local';
  readonly door: Door;
  /** Owner of what this actor starts; survives `token rotate`. */
  readonly principal: string;
  readonly level: Level;
  readonly tokenId?: string;
  readonly projects?: readonly string[];
  /** Bundle slugs. */
  readonly bundles?: readonly string[];
  /** Set for a session's socket and for keys minted by a session's grant: all it does belongs to that session's tree. */
  readonly sessionId?: string;
  readonly projectId?: string;
  /** True for what must never change the catalog, whatever its level (keys granted to sessions). */
  readonly isGranted?: boolean;
}

/** True when the bundle lies in the actor's reach. */
export function reachesBundle(actor: Actor, bundleSlug: string): boolean {
  return !actor.bundles || actor.bundles.includes(bundleSlug);
}

/** True when the project lies in the actor's reach. */
export function reachesProject(actor: Actor, projectId: string): boolean {
  return !actor.projects || actor.projects.includes(projectId);
}

/** Throws scope.denied for whoever is limited to projects or to a session: what concerns the whole server is not theirs. */
export function demandUnconfined(actor: Actor, what: string): void {
  if (actor.isGranted || actor.kind === 'session' || actor.projects)
    throw fail('scope.denied', {
      message: `${what} needs an admin token that is not limited to projects or a session.`,
    });
}
