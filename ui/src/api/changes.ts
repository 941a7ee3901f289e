import { useEffect } from 'react';
import { follow } from './follow.ts';
import { queries } from './queries.ts';

/** What each topic of the server's event stream makes stale. */
const stale: Record<string, string[]> = {
  catalog: ['bundles', 'tools', 'server'],
  sessions: ['session', 'project'],
};

/** Follows the server's own changes while the page is open, so that every list is live in every tab. */
export function useServerChanges(isSignedIn: boolean): void {
  useEffect(() => {
    if (!isSignedIn) return;
    let wasLost = false;
    return follow({
      path: () => '/events?topics=catalog,sessions',
      onState(state) {
        if (state === 'lost') wasLost = true;
        if (state !== 'live') return;
        if (wasLost) void queries.invalidateQueries();
        wasLost = false;
      },
      onFrame(frame) {
        for (const key of stale[frame.event] ?? []) void queries.invalidateQueries({ queryKey: [key] });
      },
    });
  }, [isSignedIn]);
}
