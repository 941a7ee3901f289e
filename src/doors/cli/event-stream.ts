import { setTimeout as sleep } from 'node:timers/promises';
import type { IncomingMessage } from 'node:http';
import { CommandFailure } from './failure.ts';
import type { ServerClient } from './server-client.ts';

export interface Frame {
  id?: string;
  event: string;
  data: string;
}

/** Cuts a server-sent stream into its frames. */
export async function* frames(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop()!;
    for (const part of parts) {
      const frame = parse(part);
      if (frame) yield frame;
    }
  }
}

function parse(block: string): Frame | undefined {
  const frame: Frame = { event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^(\w+): ?(.*)$/s.exec(line) ?? [];
    if (field === 'data') data.push(value!);
    else if (field === 'event') frame.event = value!;
    else if (field === 'id') frame.id = value!;
  }
  frame.data = data.join('\n');
  return data.length > 0 ? frame : undefined;
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
      const stream: IncomingMessage = await server.open('GET', path, {
        headers: { accept: 'text/event-stream' },
        signal,
      });
      for await (const frame of frames(stream)) {
        misses = 0;
        if (frame.id !== undefined && Number(frame.id) <= cursor && frame.event !== 'reset') continue;
        if (frame.id !== undefined) cursor = Number(frame.id);
        if (frame.event === 'reset') cursor = -1;
        yield frame;
      }
    } catch (error) {
      if (signal.aborted) return;
      const isRefusal =
        error instanceof CommandFailure && error.code !== 'source.unreachable' && error.code !== 'server.not_running';
      if (isRefusal || ++misses > 10) throw error;
    }
    await sleep(Math.min(200 * 2 ** misses, 3000), undefined, { signal }).catch(() => {});
  }
}
