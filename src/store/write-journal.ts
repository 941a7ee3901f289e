import { closeSync, constants, fdatasyncSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { createFile } from './files.ts';

/** A file that was put at a path. Without bytes: what is there lasts by itself, whatever was put there before. */
export interface JournalEntry {
  path: string;
  bytes: Buffer | undefined;
}

/** A place between two entries. The sum goes over all before it: what an unfinished write left behind never fits. */
export interface JournalPlace {
  at: number;
  sum: number;
}

interface Head {
  boot: string;
  /** What lies before it lasts without the journal. The end is where no whole entry follows. */
  start: JournalPlace;
}

const allBytes = 8 * 2 ** 20;
const headBytes = 4096;
const room = allBytes - headBytes;
const headMark = 0x4a42554f;
const entryMark = 0x59544e45;
const skipMark = 0x50494b53;
const entryHead = 32;
const noBytes = 0xffffffff;
const lookForItEveryMs = 100;
const longPieceBytes = 128 * 1024;
/** What others write between two writes of ours. */
const shortPieceBytes = 8 * 1024;
/** Beyond half, somebody is told after each of these. */
const parts = 8;
const filledParts = (length: number): number => Math.floor((length / room) * parts);

type Read = (at: number, length: number) => Buffer | undefined;

/**
 * What was put into files of a folder, in one file that all processes share, until the files themselves last. To sync
 * bytes that are written over others costs the disk a fraction of what a new file and its name cost. Positions count on
 * for ever; each has its place in the ring behind the head. Reads and writes are for whoever holds the folder's lock.
 */
export class WriteJournal {
  readonly #handle: number;
  readonly #boot: string;
  /** As far as this process has looked; others write on from there. */
  #known: JournalPlace | undefined;
  #isFilling = false;
  #foundAt = 0;

  private constructor(handle: number, boot: string) {
    this.#handle = handle;
    this.#boot = boot;
  }

  /** Undefined when there is none, and where the system does not say when it was started. */
  static open(path: string): WriteJournal | undefined {
    const boot = bootId();
    if (boot === undefined) return undefined;
    try {
      return new WriteJournal(openSync(path, constants.O_RDWR), boot);
    } catch {
      return undefined;
    }
  }

  /** Makes an empty one unless there is one. */
  static async prepare(path: string): Promise<void> {
    const boot = bootId();
    if (boot === undefined) return;
    const bytes = Buffer.alloc(allBytes);
    packHead({ boot, start: { at: 0, sum: 0 } }).copy(bytes);
    await createFile(path, bytes);
  }

  /** False when its head is damaged: nothing can be read from it. */
  get isWhole(): boolean {
    return this.#head() !== undefined;
  }

  /** The system was started again since something was written: what is missing now must be put back. */
  get isOfAnotherBoot(): boolean {
    const head = this.#head();
    return head !== undefined && head.boot !== this.#boot;
  }

  /**
   * The last append filled half of it, or another part of the rest: of all processes that write to it only one is told
   * each time, so that not all of them settle the same files.
   */
  get isFilling(): boolean {
    return this.#isFilling;
  }

  /** Somebody removed the file, without asking those who have it open. */
  get isGone(): boolean {
    return fstatSync(this.#handle).nlink === 0;
  }

  get isEmpty(): boolean {
    const head = this.#head();
    return head !== undefined && this.#end(head).at === head.start.at;
  }

  /** Answers true when the entries last, false when there is no room for them: then nothing was written. */
  append(entries: readonly JournalEntry[]): boolean {
    const head = this.#head();
    if (head?.boot !== this.#boot || !this.#isThere()) return false;
    let { at, sum } = this.#end(head);
    const before = filledParts(at - head.start.at);
    const runs: { at: number; parts: Buffer[] }[] = [{ at, parts: [] }];
    for (const entry of entries) {
      const packed = packEntry(entry);
      const left = room - (at % room);
      if (packed.length > left) {
        runs.at(-1)!.parts.push(packSkip(at, left));
        at += left;
        runs.push({ at, parts: [] });
      }
      sum = seal(packed, at, sum);
      runs.at(-1)!.parts.push(packed);
      at += packed.length;
    }
    if (at - head.start.at > room) return false;
    try {
      for (const run of runs) this.#write(Buffer.concat(run.parts), headBytes + (run.at % room));
      fdatasyncSync(this.#handle);
    } catch (error) {
      // Nothing may follow what perhaps is not on the disk.
      this.#write(Buffer.alloc(entryHead), headBytes + (runs[0]!.at % room));
      throw error;
    }
    this.#known = { at, sum };
    this.#isFilling = filledParts(at - head.start.at) > Math.max(before, parts / 2 - 1);
    return true;
  }

  /** Where what does not last by itself begins. */
  start(): JournalPlace | undefined {
    return this.#head()?.start;
  }

  /** Where the next entry goes. All that lies before it is placed when the lock was held to ask this. */
  end(): JournalPlace | undefined {
    const head = this.#head();
    return head && this.#end(head);
  }

  /** What does not last by itself, in the order in which it was written, with the place behind each. */
  *entries(): Generator<JournalEntry & { next: JournalPlace }> {
    const head = this.#head();
    const ahead = this.#ahead(longPieceBytes);
    for (let read = head && this.#entryAt(head.start, ahead); read; read = this.#entryAt(read.next, ahead))
      if (read.path !== undefined) yield { path: read.path, bytes: read.bytes, next: read.next };
  }

  /** From `start` up to `next` all files last: their room is free again. Changes nothing when another said so meanwhile. */
  settle(start: JournalPlace, next: JournalPlace): void {
    if (this.#head()?.start.at !== start.at) return;
    this.#write(packHead({ boot: this.#boot, start: next }), 0);
    fdatasyncSync(this.#handle);
  }

  close(): void {
    closeSync(this.#handle);
  }

  #end({ start }: Head): JournalPlace {
    let end = this.#known && this.#known.at >= start.at ? this.#known : start;
    const ahead = this.#ahead(shortPieceBytes);
    for (let read = this.#entryAt(end, ahead); read; read = this.#entryAt(end, ahead)) end = read.next;
    return (this.#known = end);
  }

  /** Asked of the system now and then only: it keeps the times of a file to the nanosecond for whoever asks, and writes them. */
  #isThere(): boolean {
    if (performance.now() - this.#foundAt < lookForItEveryMs) return true;
    this.#foundAt = performance.now();
    return !this.isGone;
  }

  #entryAt(
    { at, sum }: JournalPlace,
    readAt: Read,
  ): { path?: string; bytes: Buffer | undefined; next: JournalPlace } | undefined {
    const left = room - (at % room);
    const wrapped = { bytes: undefined, next: { at: at + left, sum } };
    if (left < entryHead) return wrapped;
    const head = readAt(headBytes + (at % room), entryHead);
    if (head?.readDoubleLE(8) !== at) return undefined;
    if (head.readUInt32LE(0) === skipMark) return wrapped;
    const pathLength = head.readUInt32LE(16);
    const length = head.readUInt32LE(20);
    const payload = pathLength + (length === noBytes ? 0 : length);
    if (head.readUInt32LE(0) !== entryMark || payload > left - entryHead) return undefined;
    const body = readAt(headBytes + (at % room) + entryHead, payload);
    if (!body || crc32(body, sum) !== head.readUInt32LE(4)) return undefined;
    return {
      path: body.toString('utf8', 0, pathLength),
      bytes: length === noBytes ? undefined : body.subarray(pathLength),
      next: { at: at + padded(entryHead + payload), sum: head.readUInt32LE(4) },
    };
  }

  #head(): Head | undefined {
    const bytes = this.#read(0, 72);
    if (bytes?.readUInt32LE(0) !== headMark || crc32(bytes.subarray(8, 72)) !== bytes.readUInt32LE(4)) return undefined;
    return {
      boot: bytes.toString('latin1', 32, 68),
      start: { at: bytes.readDoubleLE(8), sum: bytes.readUInt32LE(16) },
    };
  }

  /** Reads on in pieces: to ask the system for every entry costs more than all else that is done with it. */
  #ahead(pieceBytes: number): Read {
    let piece: Buffer = Buffer.alloc(0);
    let start = 0;
    return (at, length) => {
      if (at < start || at + length > start + piece.length) {
        const bytes = Buffer.allocUnsafe(Math.max(length, pieceBytes));
        piece = bytes.subarray(0, readSync(this.#handle, bytes, 0, bytes.length, at));
        start = at;
      }
      return length <= start + piece.length - at ? piece.subarray(at - start, at - start + length) : undefined;
    };
  }

  #read(at: number, length: number): Buffer | undefined {
    const bytes = Buffer.allocUnsafe(length);
    return readSync(this.#handle, bytes, 0, length, at) === length ? bytes : undefined;
  }

  #write(bytes: Buffer, at: number): void {
    for (let done = 0; done < bytes.length;)
      done += writeSync(this.#handle, bytes, done, bytes.length - done, at + done);
  }
}

function bootId(): string | undefined {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return id.length === 36 ? id : undefined;
  } catch {
    return undefined;
  }
}

function packHead({ boot, start }: Head): Buffer {
  const bytes = Buffer.alloc(72);
  bytes.writeUInt32LE(headMark, 0);
  bytes.writeDoubleLE(start.at, 8);
  bytes.writeUInt32LE(start.sum, 16);
  bytes.write(boot, 32, 'latin1');
  bytes.writeUInt32LE(crc32(bytes.subarray(8, 72)), 4);
  return bytes;
}

function packEntry({ path, bytes }: JournalEntry): Buffer {
  const pathLength = Buffer.byteLength(path);
  const packed = Buffer.alloc(padded(entryHead + pathLength + (bytes?.length ?? 0)));
  packed.writeUInt32LE(entryMark, 0);
  packed.writeUInt32LE(pathLength, 16);
  packed.writeUInt32LE(bytes?.length ?? noBytes, 20);
  packed.write(path, entryHead);
  bytes?.copy(packed, entryHead + pathLength);
  return packed;
}

/** Gives a packed entry its position and its sum; answers the sum. */
function seal(packed: Buffer, at: number, before: number): number {
  const length = packed.readUInt32LE(20);
  const payload = packed.readUInt32LE(16) + (length === noBytes ? 0 : length);
  const sum = crc32(packed.subarray(entryHead, entryHead + payload), before);
  packed.writeUInt32LE(sum, 4);
  packed.writeDoubleLE(at, 8);
  return sum;
}

/** Says that the next entry lies at the front of the ring. */
function packSkip(at: number, left: number): Buffer {
  if (left < entryHead) return Buffer.alloc(left);
  const packed = Buffer.alloc(entryHead);
  packed.writeUInt32LE(skipMark, 0);
  packed.writeDoubleLE(at, 8);
  return packed;
}

const padded = (length: number): number => Math.ceil(length / 8) * 8;
