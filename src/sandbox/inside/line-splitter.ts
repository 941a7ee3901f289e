/** Cuts a byte stream into lines; holds at most `maxBytes` of an unfinished one. */
export interface LineSplitter {
  push(chunk: Buffer): void;
  /** Hands out what is left without a newline. */
  end(): void;
}

/** `onLine` gets each line without its newline; `onLost` the size of each line that was too long. */
export function lineSplitter(
  maxBytes: number,
  onLine: (line: Buffer) => void,
  onLost: (bytes: number) => void,
): LineSplitter {
  let parts: Buffer[] = [];
  let held = 0;
  let lost = 0;

  const hold = (part: Buffer): void => {
    if (lost > 0) lost += part.length;
    else if (held + part.length > maxBytes) {
      lost = held + part.length;
      parts = [];
      held = 0;
    } else if (part.length > 0) {
      parts.push(part);
      held += part.length;
    }
  };
  const finish = (): void => {
    if (lost > 0) onLost(lost);
    else onLine(parts.length === 1 ? parts[0]! : Buffer.concat(parts, held));
    parts = [];
    held = 0;
    lost = 0;
  };

  return {
    push(chunk) {
      let start = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, start)) {
        hold(chunk.subarray(start, at));
        finish();
        start = at + 1;
      }
      // A copy: the rest of a chunk may be kept for long, and its pool with it.
      if (start < chunk.length) hold(Buffer.from(chunk.subarray(start)));
    },
    end() {
      if (held > 0 || lost > 0) finish();
    },
  };
}
