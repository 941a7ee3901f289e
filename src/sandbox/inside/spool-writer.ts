import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { type recordKinds, segmentName, segmentStart, spoolLimits } from '../../schema/supervisor.ts';

export interface SpoolWriter {
  /** Offset behind the last record. */
  readonly end: number;
  /** True while the server has so much left to read that the agent must wait, or while the disk is full. */
  readonly isFull: boolean;
  /** Adds a record. Kept in memory and tried again when the disk is full. */
  append(kind: keyof typeof recordKinds, text: string | Buffer): void;
  /** Writes what `append` gathered in this turn of the event loop. */
  flush(): void;
  /** Forgets segments that the server has stored. */
  ack(offset: number): void;
}

/** Opens the spool behind its last record, so that a new supervisor in an old folder goes on counting. */
export function spoolWriter(
  folder: string,
  limits: { segmentBytes: number; fullBytes: number } = spoolLimits,
): SpoolWriter {
  mkdirSync(folder, { recursive: true });
  const segments = readdirSync(folder)
    .map(segmentStart)
    .filter((start) => start !== undefined)
    .sort((a, b) => a - b);
  const last = segments.at(-1);
  let end = last === undefined ? 0 : last + statSync(join(folder, segmentName(last))).size;
  let acked = segments[0] ?? 0;
  let current: { fd: number; start: number } | undefined;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let isStuck = false;

  const segment = (): { fd: number; start: number } => {
    if (current && end - current.start < limits.segmentBytes) return current;
    if (current) closeSync(current.fd);
    current = { fd: openSync(join(folder, segmentName(end)), 'wx', 0o600), start: end };
    segments.push(end);
    return current;
  };

  const write = (bytes: Buffer): void => {
    const { fd } = segment();
    const size = fstatSync(fd).size;
    let done = 0;
    try {
      while (done < bytes.length) done += writeSync(fd, bytes, done);
    } catch (error) {
      // Half a record must never be seen: the reader counts bytes.
      ftruncateSync(fd, size);
      throw error;
    }
    end += bytes.length;
  };

  return {
    get end() {
      return end;
    },
    get isFull() {
      return isStuck || end + waitingBytes - acked >= limits.fullBytes;
    },
    append(kind, text) {
      const record = Buffer.concat([
        Buffer.from(kind),
        typeof text === 'string' ? Buffer.from(text) : text,
        Buffer.from('\n'),
      ]);
      waiting.push(record);
      waitingBytes += record.length;
    },
    flush() {
      if (waiting.length === 0) return;
      const bytes = Buffer.concat(waiting, waitingBytes);
      try {
        write(bytes);
        waiting = [];
        waitingBytes = 0;
        isStuck = false;
      } catch {
        waiting = [bytes];
        isStuck = true;
      }
    },
    ack(offset) {
      acked = Math.min(Math.max(acked, offset), end);
      while (segments.length > 1 && segments[1]! <= acked) {
        try {
          unlinkSync(join(folder, segmentName(segments[0]!)));
        } catch {
          // Gone already: that is what was wanted.
        }
        segments.shift();
      }
    },
  };
}
