import type { EventLog, Presence } from '../../log/index.ts';
import type { SessionEvent } from '../../schema/index.ts';
import type { Sessions } from '../../sessions/index.ts';
import type { SessionFeed } from './session-feed.ts';

export interface LogFeedDeps {
  sessions: Pick<Sessions, 'get'>;
  log: EventLog;
  presence: Presence;
}

/** The sessions' own log as a feed: what is on disk first, then what comes, each event once. */
export function logFeed({ sessions, log, presence }: LogFeedDeps): SessionFeed {
  return {
    async follow(actor, sessionId, after, onEvent) {
      await sessions.get(actor, sessionId);
      const stop = new AbortController();
      const from = after === 'newest' ? (await log.bounds(sessionId)).newest : after;
      const leave = presence.enter(sessionId, actor.principal);
      const run = async (): Promise<void> => {
        for await (const item of log.follow(sessionId, { after: from, signal: stop.signal })) {
          if (item.kind !== 'events') continue;
          for (const event of item.events) if (!stop.signal.aborted) onEvent(JSON.parse(event.json) as SessionEvent);
        }
      };
      void run()
        .catch(() => {})
        .finally(leave);
      return () => {
        stop.abort();
        leave();
      };
    },
  };
}
