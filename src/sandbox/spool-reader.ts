import { constants } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isObject,
  numberOf,
  recordKinds,
  segmentName,
  segmentStart,
  spoolLimits,
  textOf,
  type AgentProcessState,
} from '../schema/index.ts';
import type { SpoolRecord } from './link.ts';

const chunkBytes = 256 * 1024;
const maxRecords = 1000;
const maxReasonLength = 200;
const lineEnd = '\n'.charCodeAt(0);

/** More than the supervisor ever leaves unread: whoever wrote that was not the supervisor. */
const absurdBytes = 2 * spoolLimits.fullBytes;

export interface SpoolReader {
  readonly offset: number;
  /** The next records, a thousand at most; empty when there is nothing new. Never throws. */
  read(): Promise<SpoolRecord[]>;
  close(): Promise<void>;
}

/**
 * Reads a spool from an offset on. The agent can write into this folder too, so nothing in it is trusted: links
 * are not followed, what is no plain file is not opened, and what cannot be read is reported and skipped.
 */
export function spoolReader(folder: string, from: number): SpoolReader {
  let offset = from;
  let current: { file: FileHandle; start: number } | undefined;
  /** Read from `offset` on and not handed out yet. */
  let rest: Buffer = Buffer.alloc(0);

  const drop = async (): Promise<void> => {
    await current?.file.close().catch(() => {});
    current = undefined;
    rest = Buffer.alloc(0);
  };

  const garbled = (reason: string, next: number): SpoolRecord[] => {
    const record: SpoolRecord = { kind: 'garbled', reason, offset, next };
    offset = next;
    return [record];
  };

  const starts = async (): Promise<number[]> =>
    (await readdir(folder).catch(() => []))
      .map(segmentStart)
      .filter((start) => start !== undefined)
      .sort((a, b) => a - b);

  /** Opens the segment that holds `offset`; answers a record when there is none but later ones exist. */
  const find = async (): Promise<SpoolRecord[] | undefined> => {
    const all = await starts();
    const start = all.findLast((candidate) => candidate <= offset);
    const later = all.find((candidate) => candidate > offset);
    if (start === undefined) return later === undefined ? [] : garbled('a segment is missing', later);
    const file = await openPlain(join(folder, segmentName(start)));
    if (!file) return later === undefined ? [] : garbled('a segment is no plain file', later);
    const { size } = await file.stat();
    if (start + size <= offset && start !== offset) {
      await file.close();
      return later === undefined ? [] : garbled('a segment is missing', later);
    }
    current = { file, start };
    return undefined;
  };

  /** At the end of a segment: true when a next one follows. */
  const turnPage = async (): Promise<boolean> => {
    const end = offset + rest.length;
    if (end === current!.start) return false;
    const next = await openPlain(join(folder, segmentName(end)));
    if (!next) return false;
    await current!.file.close().catch(() => {});
    current = { file: next, start: end };
    return true;
  };

  /** Whoever leaves half a record and goes on elsewhere is not waited for; undefined when more has come meanwhile. */
  const skipAhead = async (): Promise<SpoolRecord[] | undefined> => {
    const later = (await starts()).find((start) => start > offset);
    if (later === undefined) return [];
    const { size } = await current!.file.stat();
    if (current!.start + size > offset + rest.length) return undefined;
    await drop();
    return garbled('a record is cut off', later);
  };

  const read = async (): Promise<SpoolRecord[]> => {
    for (;;) {
      const records = takeRecords();
      if (records.length > 0) return records;
      const problem = (current ? undefined : await find()) ?? (await readOn());
      if (problem) return problem;
    }
  };

  /** Reads one piece more; answers what `read` has to answer at once, if there is anything to say. */
  const readOn = async (): Promise<SpoolRecord[] | undefined> => {
    const { file, start } = current!;
    const position = offset + rest.length - start;
    const { size } = await file.stat();
    if (size - position > absurdBytes) {
      await drop();
      return garbled(`a segment of ${size} bytes`, start + size);
    }
    const chunk = Buffer.allocUnsafe(Math.min(Math.max(chunkBytes, rest.length), Math.max(size - position, 0)));
    const { bytesRead } = chunk.length > 0 ? await file.read(chunk, 0, chunk.length, position) : { bytesRead: 0 };
    if (bytesRead === 0) {
      if (!(await turnPage())) return skipAhead();
      return rest.length > 0 ? dropRest('a record is cut off') : undefined;
    }
    rest = Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
    const isTooLong = rest.length > spoolLimits.lineBytes + 1 && !rest.includes(lineEnd);
    return isTooLong ? dropRest('a record is too long') : undefined;
  };

  /** Gives up what was read of a record that will never be whole. */
  const dropRest = (reason: string): SpoolRecord[] => {
    const end = offset + rest.length;
    rest = Buffer.alloc(0);
    return garbled(reason, end);
  };

  /** Takes whole records from what was read, some at a time: whoever gets them must not be held up for long. */
  const takeRecords = (): SpoolRecord[] => {
    const records: SpoolRecord[] = [];
    let start = 0;
    for (let end = rest.indexOf(lineEnd); end >= 0 && records.length < maxRecords; end = rest.indexOf(lineEnd, start)) {
      const next = offset + (end - start) + 1;
      records.push({ offset, next, ...parseRecord(rest.toString('utf8', start, end)) });
      offset = next;
      start = end + 1;
    }
    rest = rest.subarray(start);
    return records;
  };

  return {
    get offset() {
      return offset;
    },
    async read() {
      try {
        return await read();
      } catch {
        // A file that vanished or cannot be read now is looked for again on the next wake.
        await drop();
        return [];
      }
    },
    close: drop,
  };
}

type Content = SpoolRecord extends infer R ? (R extends SpoolRecord ? Omit<R, 'offset' | 'next'> : never) : never;

function parseRecord(line: string): Content {
  const kind = (recordKinds as Record<string, string | undefined>)[line[0] ?? ''];
  const text = line.slice(1);
  if (kind === 'out' || kind === 'err') return { kind, line: text };
  const value = kind === undefined ? undefined : parseJson(text);
  if (!isObject(value)) return { kind: 'garbled', reason: 'a record of no known kind' };
  if (kind === 'done' && typeof value['id'] === 'string')
    return typeof value['error'] === 'string'
      ? { kind, id: value['id'], error: value['error'] }
      : { kind, id: value['id'] };
  if (kind === 'lost') return { kind, stream: textOf(value['stream']), bytes: numberOf(value['bytes']) || 0 };
  const state = kind === 'state' ? parseState(value) : undefined;
  return state ? { kind: 'state', state } : { kind: 'garbled', reason: 'a record that makes no sense' };
}

function parseState({ state, pid, code, signal, reason }: Record<string, unknown>): AgentProcessState | undefined {
  switch (state) {
    case 'started':
      return { state, pid: numberOf(pid) || 0 };
    case 'paused':
    case 'resumed':
      return { state };
    case 'failed':
      return { state, reason: textOf(reason) };
    case 'exited':
      return {
        state,
        code: typeof code === 'number' ? code : null,
        signal: typeof signal === 'string' ? signal : null,
        ...(typeof reason === 'string' && { reason: reason.slice(0, maxReasonLength) }),
      };
    default:
      return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Opens a plain file for reading; undefined for links, pipes, folders and what is not there. */
async function openPlain(path: string): Promise<FileHandle | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
  } catch {
    // Answered below.
  }
  await file?.close();
  return undefined;
}
