import { useEffect, useRef, useState } from 'react';
import { follow, type StreamState } from '../../api/follow.ts';
import type { Frame } from '../../api/frames.ts';
import type { SessionEvent } from '../../api/shapes.ts';
import { emptyTranscript, withDelta, withEvent, type Transcript } from './transcript.ts';

/**
 * Follows a session's events from `after`; a cut resumes where it was, so nothing is missed and nothing comes twice.
 * Whoever shows another session mounts anew; an earlier `after` of the same one changes nothing until all of it is there.
 */
export function useSessionStream(
  sessionId: string,
  after = -1,
): { transcript: Transcript; state: StreamState; problem: string | undefined } {
  const [transcript, setTranscript] = useState<Transcript>(emptyTranscript);
  const [state, setState] = useState<StreamState>('connecting');
  const [problem, setProblem] = useState<string>();
  const current = useRef<Transcript>(emptyTranscript);

  useEffect(() => {
    let shownUntil = current.current.lastIndex;
    current.current = { ...emptyTranscript, lastIndex: after };
    let drawing: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      // Thousands of stored events arrive at once on opening: one drawing for all of them.
      drawing ??= setTimeout(() => {
        drawing = undefined;
        if (current.current.lastIndex >= shownUntil) setTranscript(current.current);
      }, 30);
    };
    const stop = follow({
      path: () => `/sessions/${encodeURIComponent(sessionId)}/events?after=${current.current.lastIndex}`,
      onState: (next, error) => {
        setState(next);
        setProblem(error?.message);
      },
      onFrame: (frame) => {
        current.current = taken(current.current, frame);
        if (frame.event === 'reset') shownUntil = -1;
        draw();
      },
    });
    return () => {
      stop();
      clearTimeout(drawing);
    };
  }, [sessionId, after]);
  return { transcript, state, problem };
}

function taken(before: Transcript, frame: Frame): Transcript {
  let data: unknown;
  try {
    data = JSON.parse(frame.data);
  } catch {
    return before;
  }
  if (frame.event === 'reset') return emptyTranscript;
  if (frame.event === 'delta') return withDelta(before, data as Parameters<typeof withDelta>[1]);
  if (frame.id === undefined) return before;
  return withEvent(before, data as SessionEvent);
}
