// A small reader of server-sent events, for what a browser or an SDK would see.
export interface Frame {
  id?: number;
  event: string;
  data: any;
}

export interface Stream {
  frames: Frame[];
  /** Resolves with the first frame that fits, past or future; rejects when the stream ends without it. */
  until(fits: (frame: Frame) => boolean): Promise<Frame>;
  closed: Promise<void>;
  close(): void;
  status: number;
}

export async function openStream(url: string, token: string, headers: Record<string, string> = {}): Promise<Stream> {
  const stop = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
    signal: stop.signal,
  });
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  const closed = (async () => {
    let held = '';
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body!) {
        held += decoder.decode(chunk, { stream: true });
        const blocks = held.split('\n\n');
        held = blocks.pop()!;
        for (const block of blocks) frames.push(parse(block));
        for (const wake of waiting) wake();
      }
    } catch {
      // Closed by us or cut.
    }
    isOver = true;
    for (const wake of waiting) wake();
  })();
  return {
    frames,
    closed,
    status: response.status,
    close: () => stop.abort(),
    until: (fits) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => done(() => reject(new Error(`never came: ${JSON.stringify(frames)}`))), 120_000);
        const look = (): void => {
          const found = frames.find(fits);
          if (found) done(() => resolve(found));
          else if (isOver) done(() => reject(new Error('the stream is over')));
        };
        const done = (then: () => void): void => {
          clearTimeout(timer);
          waiting.delete(look);
          then();
        };
        waiting.add(look);
        look();
      }),
  };
}

function parse(block: string): Frame {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return {
    ...(fields['id'] !== undefined && { id: Number(fields['id']) }),
    event: fields['event'] ?? 'message',
    data: JSON.parse(fields['data'] ?? 'null'),
  };
}
