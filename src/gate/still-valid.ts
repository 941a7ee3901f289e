import { performance } from 'node:perf_hooks';
import type { Actor, Budget, CallOptions } from '../schema/index.ts';

const askEveryMs = 1000;

/**
 * The calls of a program are made with the rights of whoever started it. Programs may run for minutes: once a second it
 * is asked whether the token is still good. Undefined when there is nothing to wait for; fails as `demand` does.
 */
export function stillValid(
  demand: (tokenId: string, actor: Actor) => Promise<unknown>,
): (actor: Actor, options: CallOptions) => Promise<void> | undefined {
  const askedAt = new WeakMap<Budget, number>();
  return (actor, { budget }) => {
    if (!budget || actor.tokenId === undefined) return undefined;
    const now = performance.now();
    const before = askedAt.get(budget);
    // The token of whoever starts a program was checked a moment ago.
    if (before === undefined) askedAt.set(budget, now);
    if (before === undefined || now - before < askEveryMs) return undefined;
    return demand(actor.tokenId, actor).then(() => void askedAt.set(budget, now));
  };
}
