import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { SessionEvent } from '../schema/index.ts';
import { OublietteError, type Http } from './http.ts';

/** One frame of a session's stream, as the server named it. */
export interface Frame {
  event: string;
  data: unknown;
}

const firstRetryMs = 100;
const longestRetryMs = 5000;
/** The server pings well within this; silence beyond it is a dead connection. */
const silenceMs = 60_000;

/**
 * A session's frames from after an index, for as long as the signal allows. A cut connection is taken up again
 * where it broke, so that every stored event comes once; only a refusal by the server is thrown.
 */
export async function* followSession(
  http: Http,
  sessionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  let cursor = after;
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    const broken = new AbortController();
    const stop = (): void => broken.abort();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const path = `/sessions/${encodeURIComponent(sessionId)}/events?after=${cursor}`;
      const response = await http.stream(path, {}, broken.signal);
      for await (const frame of frames(response, broken)) {
        retryMs = firstRetryMs;
        if (frame.event === 'reset') cursor = (frame.data as { oldest: number }).oldest - 1;
        const index = (frame.data as Partial<SessionEvent>)?.index;
        if (frame.event !== 'ask_pending' && typeof index === 'number') {
          if (index <= cursor) continue;
          cursor = index;
        }
        yield frame;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (error instanceof OublietteError && !error.retryable) throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      broken.abort();
    }
    await pause(retryMs * (0.5 + Math.random()), signal);
    retryMs = Math.min(retryMs * 2, longestRetryMs);
  }
}

async function* frames(response: Response, broken: AbortController): AsyncGenerator<Frame> {
  const parsed = response
    .body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream());
  const reader = parsed.getReader();
  for (;;) {
    const silence = setTimeout(() => broken.abort(), silenceMs);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    yield { event: value.event ?? 'message', data: JSON.parse(value.data) };
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    signal.addEventListener('abort', over, { once: true });
    if (signal.aborted) over();
  });
}
