/** A message between the engine and its child: a JSON head and, where a snapshot travels, its bytes. */
export interface Frame<T> {
  head: T;
  tail: Buffer;
}

const headerBytes = 8;
const none = Buffer.alloc(0);

export function encodeFrame(head: unknown, tail: Buffer = none): Buffer {
  const json = JSON.stringify(head);
  const headBytes = Buffer.byteLength(json);
  const frame = Buffer.allocUnsafe(headerBytes + headBytes + tail.length);
  frame.writeUInt32LE(headBytes, 0);
  frame.writeUInt32LE(tail.length, 4);
  frame.write(json, headerBytes);
  tail.copy(frame, headerBytes + headBytes);
  return frame;
}

/** Puts frames together from the pieces in which they arrive. */
export class FrameReader<T> {
  #pieces: Buffer[] = [];
  #have = 0;
  #need = headerBytes;

  /** Answers the frames that are complete now. Their tails lie in `piece`; what is not complete is copied out of it. */
  push(piece: Buffer): Frame<T>[] {
    let all = piece;
    if (this.#have > 0) {
      this.#pieces.push(Buffer.from(piece));
      this.#have += piece.length;
      if (this.#have < this.#need) return [];
      all = Buffer.concat(this.#pieces);
      this.#pieces = [];
    }
    const frames: Frame<T>[] = [];
    let at = 0;
    this.#need = headerBytes;
    while (all.length - at >= headerBytes) {
      const tailAt = at + headerBytes + all.readUInt32LE(at);
      const end = tailAt + all.readUInt32LE(at + 4);
      if (all.length < end) {
        this.#need = end - at;
        break;
      }
      const head = JSON.parse(all.toString('utf8', at + headerBytes, tailAt)) as T;
      frames.push({ head, tail: end === tailAt ? none : all.subarray(tailAt, end) });
      at = end;
    }
    this.#have = all.length - at;
    if (this.#have > 0) this.#pieces = [Buffer.from(all.subarray(at))];
    return frames;
  }
}
