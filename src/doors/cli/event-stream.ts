import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { CommandFailure } from './failure.ts';
import type { ServerClient } from './server-client.ts';

/** One frame of a server-sent stream; only stored events carry an id. */
export type Frame = EventSourceMessage;

/** Cuts a server-sent stream into its frames. */
export async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let ready: Frame[] = [];
  const parser = createParser({ onEvent: (frame) => ready.push(frame) });
  for await (const chunk of stream) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* ready;
    ready = [];
  }
}

/**
 * A session's events after `after`, live, without gap or double: when the connection is lost it is taken up again
 * where it was. Ends when the signal is aborted; fails when the server stays away or refuses.
 */
export async function* sessionFrames(
  server: ServerClient,
  sessionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  let cursor = after;
  for (let misses = 0; !signal.aborted;) {
    try {
      const path = `/sessions/${encodeURIComponent(sessionId)}/events?after=${cursor}`;
      const headers = { accept: 'text/event-stream' };
      const stream: IncomingMessage = await server.open('GET', path, { headers, signal });
      for await (const frame of frames(stream)) {
        misses = 0;
        if (frame.event === 'reset') cursor = -1;
        else if (frame.id !== undefined && Number(frame.id) <= cursor) continue;
        else if (frame.id !== undefined) cursor = Number(frame.id);
        yield frame;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error) || ++misses > 10) throw error;
    }
    await sleep(Math.min(200 * 2 ** misses, 3000), undefined, { signal }).catch(() => {});
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof CommandFailure && error.code !== 'source.unreachable' && error.code !== 'server.not_running';
