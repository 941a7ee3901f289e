import { demandUnconfined, fail, reaches, type Actor, type Level } from '../schema/index.ts';

export { reachesBundle } from '../schema/index.ts';

/** Throws scope.denied unless the actor's level reaches `need`. */
export function demandLevel(actor: Actor, need: Level, what: string): void {
  if (!reaches(actor.level, need)) throw fail('scope.denied', { tool: what, need, have: actor.level });
}

/** What changes the catalog, secrets or settings: a plain admin token, never a key that a session was granted. */
export function demandCatalogAdmin(actor: Actor, what: string): void {
  demandLevel(actor, 'admin', what);
  demandUnconfined(actor, what);
}
