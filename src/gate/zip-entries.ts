import { crc32, inflateRawSync } from 'node:zlib';

/** One file in a ZIP file. */
export interface ZipEntry {
  name: string;
  /** How large it says it is; it is never read any further. */
  size: number;
  /** Unpacks it; throws when it is damaged, or packed in a way that nobody writes. */
  read(): Uint8Array;
}

/** A ZIP file that ends too early, or whose list of entries makes no sense. */
export class DamagedZip extends Error {}

const signature = { entry: 0x04034b50, listed: 0x02014b50, end: 0x06054b50 };
const length = { entry: 30, listed: 46, end: 22 };
const longestComment = 0xffff;
const method = { stored: 0, deflated: 8 };
const hasUtf8Name = 0x800;

/**
 * What the list at the end of a ZIP file names, one after the other, nothing unpacked yet. Nothing for bytes that are
 * none; throws DamagedZip.
 */
export function* zipEntries(bytes: Uint8Array): Generator<ZipEntry, void, void> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = endOf(file);
  if (end === undefined) {
    if (hasAt(file, 0, signature.entry, length.entry)) throw new DamagedZip('it ends in the middle');
    return;
  }
  let at = file.readUInt32LE(end + 16);
  // Its number of entries is not asked: it has room for 65,535 only.
  while (at < end) {
    if (!hasAt(file, at, signature.listed, length.listed)) throw new DamagedZip('its list of files is broken');
    const nameEnd = at + length.listed + file.readUInt16LE(at + 28);
    const next = nameEnd + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
    if (next > end) throw new DamagedZip('its list of files is broken');
    yield listedAt(file, at, nameEnd);
    at = next;
  }
}

function endOf(file: Buffer): number | undefined {
  const first = Math.max(0, file.length - length.end - longestComment);
  for (let at = file.length - length.end; at >= first; at--)
    if (hasAt(file, at, signature.end, length.end) && at + length.end + file.readUInt16LE(at + 20) === file.length)
      return at;
  return undefined;
}

const hasAt = (file: Buffer, at: number, wanted: number, size: number): boolean =>
  at >= 0 && at + size <= file.length && file.readUInt32LE(at) === wanted;

function listedAt(file: Buffer, at: number, nameEnd: number): ZipEntry {
  const isUtf8 = (file.readUInt16LE(at + 8) & hasUtf8Name) !== 0;
  const packing = file.readUInt16LE(at + 10);
  const sum = file.readUInt32LE(at + 16);
  const packedSize = file.readUInt32LE(at + 20);
  const size = file.readUInt32LE(at + 24);
  const start = file.readUInt32LE(at + 42);
  return {
    name: file.toString(isUtf8 ? 'utf8' : 'latin1', at + length.listed, nameEnd),
    size,
    read() {
      if (!hasAt(file, start, signature.entry, length.entry)) throw new DamagedZip('it is not where it should be');
      const from = start + length.entry + file.readUInt16LE(start + 26) + file.readUInt16LE(start + 28);
      if (from + packedSize > file.length) throw new DamagedZip('it ends in the middle');
      const unpacked = unpack(file.subarray(from, from + packedSize), packing, size);
      if (unpacked.length !== size || crc32(unpacked) !== sum) throw new DamagedZip('its sum is wrong');
      return unpacked;
    },
  };
}

function unpack(packed: Buffer, packing: number, size: number): Buffer {
  if (packing === method.stored) return packed;
  if (packing !== method.deflated) throw new DamagedZip(`it is packed by method ${packing}`);
  return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) });
}
