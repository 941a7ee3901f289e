import type { Actor } from '../../schema/index.ts';

/** Whose results an actor finds again: those of its session, or of its principal. */
export const resultOwner = (actor: Actor): string =>
  actor.sessionId === undefined ? `principal:${actor.principal}` : `session:${actor.sessionId}`;
