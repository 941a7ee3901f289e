import { useEffect, useRef, useState } from 'react';
import { follow, type StreamState } from '../../api/follow.ts';
import type { Frame } from '../../api/frames.ts';
import type { SessionEvent } from '../../api/shapes.ts';
import { emptyTranscript, withDelta, withEvent, type Transcript } from './transcript.ts';

/** Follows a session's events from `after`; a cut resumes where it was, so nothing is missed and nothing comes twice. */
export function useSessionStream(
  sessionId: string,
  after = -1,
): { transcript: Transcript; state: StreamState; problem: string | undefined } {
  const [transcript, setTranscript] = useState<Transcript>(emptyTranscript);
  const [state, setState] = useState<StreamState>('connecting');
  const [problem, setProblem] = useState<string>();
  const current = useRef<Transcript>(emptyTranscript);

  useEffect(() => {
    current.current = { ...emptyTranscript, lastIndex: after };
    setTranscript(current.current);
    setProblem(undefined);
    let drawing: ReturnType<typeof setTimeout> | undefined;
    const draw = (): void => {
      // Thousands of stored events arrive at once on opening: one drawing for all of them.
      drawing ??= setTimeout(() => {
        drawing = undefined;
        setTranscript(current.current);
      }, 30);
    };
    const stop = follow({
      path: () => `/sessions/${encodeURIComponent(sessionId)}/events?after=${current.current.lastIndex}`,
      onState: (next, error) => {
        setState(next);
        if (error) setProblem(error.message);
      },
      onFrame: (frame) => {
        current.current = taken(current.current, frame);
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
