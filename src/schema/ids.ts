import { createHash, randomFillSync } from 'node:crypto';
import { v7, validate, version } from 'uuid';

/** A UUIDv7 that sorts after all that this process made before. */
export function newUuid(): string {
  const at = draw(16);
  const now = Date.now();
  if (now > uuidMs) {
    uuidMs = now;
    // From the lower half: there is room above for all that one millisecond can bring.
    uuidSeq = pool.readUInt32BE(at) & 0x3fffffff;
  } else if (++uuidSeq > 0x7fffffff) {
    uuidMs++;
    uuidSeq = 0;
  }
  return v7({ msecs: uuidMs, seq: uuidSeq, random: pool.subarray(at, at + 16) });
}
let uuidMs = 0;
let uuidSeq = 0;

/** Accepts any case, answers lower case; undefined when it is not a UUIDv7 of the RFC variant. */
export function parseUuid7(text: string): string | undefined {
  return validate(text) && version(text) === 7 ? text.toLowerCase() : undefined;
}

/** A UUIDv7 that is the same on every machine: built-ins, packs and servers keep their id across restarts. */
export function derivedUuid7(name: string, atMs: number): string {
  const hash = createHash('sha256').update(name).digest();
  return v7({ msecs: atMs, random: hash.subarray(0, 16), seq: hash.readUInt32BE(16) & 0x7fffffff });
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
/** Two characters at a time: every request gets an id. */
const pairs = [...alphabet].flatMap((first) => [...alphabet].map((second) => first + second));
export type IdPrefix = 'proj' | 'wsp' | 'ses' | 'ask' | 'tok' | 'blob' | 'req' | 'msg' | 'box';

/**
 * A sortable, unguessable id such as `ses_06dq...`: 48 bits of time, 15 that count up within a millisecond, so that ids
 * sort in the order in which one process made them, and 65 random ones.
 */
export function newId(prefix: IdPrefix): string {
  const at = draw(15);
  const now = Date.now();
  if (now === headMs) order++;
  else {
    headMs = now;
    head = '';
    for (let i = 0, rest = now; i < 10; i++, rest = Math.floor(rest / 32)) head = alphabet[rest % 32] + head;
    // From the lower half: there is room above for all that one millisecond can bring.
    order = pool.readUInt16LE(at + 13) & 0x3fff;
  }
  let tail = `${alphabet[(order >> 10) & 31]}${pairs[order & 1023]}`;
  for (let i = 0; i < 12; i += 2) tail += pairs[((pool[at + i]! & 31) << 5) | (pool[at + i + 1]! & 31)];
  return `${prefix}_${head}${tail}${alphabet[pool[at + 12]! & 31]}`;
}

// Every request gets an id; asking the system for fresh randomness each time would cost more than the rest of it.
const pool = Buffer.alloc(4096);
let used = pool.length;

/** Where in the pool there are random bytes that nobody else gets. */
function draw(count: number): number {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return used - count;
}

/** The time of the last id, how it is written, and the place of that id within its millisecond. */
let headMs = 0;
let head = '';
let order = 0;
