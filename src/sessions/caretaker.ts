import type { Lifecycle } from './lifecycle.ts';
import { retireNode } from './node-identity.ts';
import type { SessionPorts } from './ports.ts';
import { reconcile, takeOverAbandoned } from './reconcile.ts';
import { dropWaiting } from './session-end.ts';
import type { UtilityBoxes } from './utility-boxes.ts';

const reconcileMs = 10_000;

/** Looks after sessions in the background: those an earlier server left, those that idle, and what other processes ask for. */
export interface Caretaker {
  readonly isStopping: boolean;
  start(): Promise<void>;
  /** Begins nothing more; `letGo` runs once nothing is under way. */
  stop(...letGo: (() => Promise<unknown>)[]): Promise<void>;
}

export function caretaker(
  ports: SessionPorts,
  life: Lifecycle,
  utility: UtilityBoxes,
  ourPlaces: () => string[],
): Caretaker {
  let timers: NodeJS.Timeout[] = [];
  let looking: Promise<void> = Promise.resolve();
  let unlisten = (): void => {};
  let isStopping = false;

  /** Carries out what other processes requested in the rows of our sessions. */
  async function heed(): Promise<void> {
    for (const row of await ports.tables.list({ node: ports.node, isLive: true })) {
      const runner = life.runner(row.id);
      if (row.wanted === 'end') life.finishQuietly(row.id, { status: 'ended' });
      else if (row.wanted === 'cancel') {
        await ports.log.write(() => ports.tables.update(row.id, { wanted: null }));
        await (runner ? runner.cancel() : dropWaiting(ports, row.id));
      } else runner?.pump();
    }
  }

  function endIdle(): void {
    const minutes = ports.settings().limits.idleMinutes;
    for (const runner of life.runners())
      if (performance.now() - runner.activeAt > minutes * 60_000)
        life.finishQuietly(runner.sessionId, {
          status: 'timed_out',
          reason: `nothing happened for ${minutes} minutes`,
        });
  }

  function look(): void {
    looking = looking
      .then(() => (isStopping ? undefined : reconcile(ports, life, utility, ourPlaces)))
      .catch((error: unknown) =>
        ports.logger.warn({ span: 'sandbox.look', err: error }, 'sandboxes could not be looked after'),
      );
  }

  return {
    get isStopping() {
      return isStopping;
    },
    async start() {
      await takeOverAbandoned(ports, life);
      look();
      ports.log
        .sweep()
        .catch((error: unknown) =>
          ports.logger.warn({ span: 'session.log', err: error }, 'files of logs could not be looked after'),
        );
      const idleMs = ports.settings().limits.idleMinutes * 60_000;
      timers = [setInterval(look, reconcileMs), setInterval(endIdle, Math.max(100, Math.min(5000, idleMs / 4)))];
      for (const timer of timers) timer.unref();
      const unheard = (error: unknown): void =>
        ports.logger.error({ span: 'session.wish', err: error }, 'wishes of another process were not heard');
      unlisten = ports.log.onForeignCommit(() => void heed().catch(unheard));
    },
    async stop(...letGo) {
      isStopping = true;
      unlisten();
      for (const timer of timers) clearInterval(timer);
      await looking;
      for (const each of await Promise.allSettled([life.leave, ...letGo].map((part) => part())))
        if (each.status === 'rejected')
          ports.logger.warn({ span: 'sandbox.leave', err: each.reason }, 'a sandbox could not be let go');
      retireNode(ports.node);
    },
  };
}
