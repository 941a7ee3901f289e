/** Each of these ends an event. */
const gaps = ['\n\n', '\r\r', '\n\r\n'];
/** How much of a gap may have come before its end. */
const openGap = 2;

/**
 * An event stream with the data of its events rewritten. An event is handed on as soon as it is complete, as nobody could
 * use it before; its bytes stay the same unless `isSuspect` says that there may be something to rewrite.
 */
export function rewrittenEvents(
  body: ReadableStream<Uint8Array>,
  isSuspect: (text: string) => boolean,
  rewrite: (data: string) => string,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const begun = new Begun();
  const checked = (bytes: Buffer): Buffer =>
    isSuspect(bytes.toString('latin1')) ? Buffer.from(rewriteEvents(bytes.toString('utf8'), rewrite)) : bytes;
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) {
          if (begun.length > 0) controller.enqueue(checked(begun.take()));
          return controller.close();
        }
        const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
        const end = lastEnd(begun.tail, bytes);
        if (end === 0) {
          begun.add(bytes);
          continue;
        }
        const complete = bytes.subarray(0, end);
        if (begun.length > 0) begun.add(complete);
        controller.enqueue(checked(begun.length > 0 ? begun.take() : complete));
        if (end < bytes.length) begun.add(bytes.subarray(end));
        return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The beginning of an event. However small its pieces are, it takes no more than twice its length. */
class Begun {
  #room = Buffer.alloc(0);
  length = 0;

  get tail(): Buffer {
    return this.#room.subarray(Math.max(0, this.length - openGap), this.length);
  }

  add(bytes: Buffer): void {
    const length = this.length + bytes.length;
    if (length > this.#room.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#room.length));
      this.#room.copy(larger, 0, 0, this.length);
      this.#room = larger;
    }
    bytes.copy(this.#room, this.length);
    this.length = length;
  }

  take(): Buffer {
    const all = this.#room.subarray(0, this.length);
    this.#room = Buffer.alloc(0);
    this.length = 0;
    return all;
  }
}

/** Where the last event that is complete with these bytes ends in them; 0 when none is. */
function lastEnd(tail: Buffer, bytes: Buffer): number {
  const inside = endIn(bytes);
  if (inside > 0 || tail.length === 0) return inside;
  return Math.max(0, endIn(Buffer.concat([tail, bytes.subarray(0, openGap)])) - tail.length);
}

function endIn(bytes: Buffer): number {
  let end = 0;
  for (const gap of gaps) {
    const at = bytes.lastIndexOf(gap);
    if (at >= 0) end = Math.max(end, at + gap.length);
  }
  return end;
}

function rewriteEvents(text: string, rewrite: (data: string) => string): string {
  const written: string[] = [];
  let data: string[] = [];
  const flush = (): void => {
    const lines = data.length === 0 ? [] : rewrite(data.join('\n')).split('\n');
    for (const line of lines) written.push(`data: ${line}`);
    data = [];
  };
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (line === '') flush();
    if (line === 'data' || line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    else written.push(line);
  }
  flush();
  return written.join('\n');
}
