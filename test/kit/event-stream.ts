import { createParser } from 'eventsource-parser';
import type { TestServer } from './server.ts';

export interface Frame {
  id: string | undefined;
  event: string;
  data: any;
}

export interface EventStream {
  frames: Frame[];
  /** The first frame that fits, now or later. */
  next(fits: (frame: Frame) => boolean): Promise<Frame>;
  close(): void;
}

/** A session's stream as its caller has it: open once the server has greeted. */
export async function eventStream(
  server: TestServer,
  sessionId: string,
  token = server.token,
  after?: number,
): Promise<EventStream> {
  const stop = new AbortController();
  const query = after === undefined ? '' : `?after=${after}`;
  const response = await fetch(`${server.url}/sessions/${sessionId}/events${query}`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    signal: stop.signal,
  });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  const parser = createParser({
    onEvent: ({ id, event = 'message', data }) => {
      frames.push({ id, event, data: JSON.parse(data) });
      for (const wake of waiting) wake();
    },
  });
  const decoder = new TextDecoder();
  void (async () => {
    for await (const chunk of response.body!) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
  })().catch(() => {});
  const next = (fits: (frame: Frame) => boolean): Promise<Frame> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no frame fits among ${JSON.stringify(frames).slice(0, 3000)}`)),
        120_000,
      );
      const look = (): void => {
        const found = frames.find(fits);
        if (!found) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  await next((frame) => frame.event === 'hello');
  return { frames, next, close: () => stop.abort() };
}
