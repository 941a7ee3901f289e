import { useEffect, useRef, useState } from 'react';
import { follow } from '../../api/follow.ts';
import type { SessionEvent } from '../../api/shapes.ts';

/** All events of a session, those that come included. */
export function useEvents(sessionId: string) {
  const [events, setEvents] = useState<SessionEvent[]>([]);
  const [problem, setProblem] = useState<string>();
  const buffer = useRef<SessionEvent[]>([]);
  useEffect(() => {
    buffer.current = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = follow({
      path: () => `/sessions/${encodeURIComponent(sessionId)}/events?after=${buffer.current.at(-1)?.index ?? -1}`,
      onState: (_, error) => error && setProblem(error.message),
      onFrame: (frame) => {
        if (frame.event === 'reset') buffer.current = [];
        if (frame.id === undefined) return;
        const event = JSON.parse(frame.data) as SessionEvent;
        if (event.index > (buffer.current.at(-1)?.index ?? -1)) buffer.current.push(event);
        timer ??= setTimeout(() => {
          timer = undefined;
          setEvents([...buffer.current]);
        }, 60);
      },
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [sessionId]);
  const status = events.findLast((event) => event.type === 'status')?.['status'] as string | undefined;
  return { events, status, problem };
}
