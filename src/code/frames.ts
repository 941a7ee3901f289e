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

  /** Answers the frames that are complete now. `piece` is kept until its frame is whole. */
  push(piece: Buffer): Frame<T>[] {
    this.#pieces.push(piece);
    this.#have += piece.length;
    const frames: Frame<T>[] = [];
    while (this.#have >= this.#need) {
      const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
      this.#pieces = [all];
      const headBytes = all.readUInt32LE(0);
      const end = headerBytes + headBytes + all.readUInt32LE(4);
      if (all.length < end) {
        this.#need = end;
        break;
      }
      const head = JSON.parse(all.toString('utf8', headerBytes, headerBytes + headBytes)) as T;
      frames.push({ head, tail: all.subarray(headerBytes + headBytes, end) });
      this.#pieces = [all.subarray(end)];
      this.#have = all.length - end;
      this.#need = headerBytes;
    }
    return frames;
  }
}
