export interface Frame {
  id?: string;
  event: string;
  data: string;
}

/** Cuts a byte stream of `text/event-stream` into frames; half a frame waits for the rest. */
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  // It takes more kinds of bytes than come here, which the checker holds against it.
  const decoder: unknown = new TextDecoderStream();
  const reader = body.pipeThrough(decoder as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).replaceAll('\r\n', '\n').split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const frame = frameOf(block);
        if (frame) yield frame;
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

export function frameOf(block: string): Frame | undefined {
  const frame: Frame = { event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    if (colon === 0 || line === '') continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') frame.id = value;
    else if (name === 'event') frame.event = value;
    else if (name === 'data') data.push(value);
  }
  if (data.length === 0 && frame.event === 'message') return undefined;
  frame.data = data.join('\n');
  return frame;
}
