import { setTimeout as sleep } from 'node:timers/promises';
import type { Link } from './link.ts';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;

export type ChangeFilter = Parameters<Link['listen']>[0];

export interface ChangeFeedHooks {
  /** False once nobody wants to hear of this connection any more. */
  isWanted(): boolean;
  /** The stream is open; earlier changes may have been missed. */
  onOpen(): void;
  onTrouble(error: Error): void;
}

/** A stream on which a server of the 2026 era tells of changes. */
export interface ChangeFeed {
  /** Fails with what the server says against the first try. */
  opened: Promise<void>;
  close(): void;
}

/** Keeps the stream open: whenever it ends, another one is opened after a pause. */
export function followChanges(link: Link, filter: ChangeFilter, hooks: ChangeFeedHooks): ChangeFeed {
  let isOver = false;
  let stream: Awaited<ReturnType<Link['listen']>>;
  const isWanted = (): boolean => !isOver && hooks.isWanted();
  const open = async (): Promise<void> => {
    stream = await link.listen(filter);
    if (isWanted()) hooks.onOpen();
    else await stream?.close();
  };
  const keepOpen = async (): Promise<void> => {
    for (let pauseMs = firstPauseMs; isWanted(); pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const openedAt = performance.now();
      await stream?.closed;
      if (performance.now() - openedAt > longestPauseMs) pauseMs = firstPauseMs;
      await sleep(pauseMs, undefined, { ref: false });
      stream = undefined;
      if (isWanted()) await open().catch(hooks.onTrouble);
    }
  };
  const opened = open();
  void opened.catch(hooks.onTrouble).then(keepOpen);
  return {
    opened,
    close() {
      isOver = true;
      void stream?.close().catch(() => {});
    },
  };
}
