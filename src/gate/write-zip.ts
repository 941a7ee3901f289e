import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32, deflateRawSync } from 'node:zlib';

const packAtOnce = 64;
const zipVersion = 20;
const utf8Names = 0x800;
const method = { stored: 0, deflated: 8 };

/** Files as one ZIP file; level 0 leaves them as they are, 9 makes them smallest. */
export async function writeZip(
  files: Iterable<readonly [name: string, bytes: Buffer]>,
  level: number,
): Promise<Buffer> {
  const parts: Buffer[] = [];
  const list: Buffer[] = [];
  const at = dosTime(new Date());
  let offset = 0;
  for (const [name, bytes] of files) {
    const packed = level === 0 ? bytes : deflateRawSync(bytes, { level });
    const packing = level === 0 ? method.stored : method.deflated;
    const entry: Entry = { name: Buffer.from(name), packing, at, sum: crc32(bytes), packed, size: bytes.length };
    const head = entryHead(entry);
    list.push(listed(entry, offset));
    parts.push(head, packed);
    offset += head.length + packed.length;
    if (list.length % packAtOnce === 0) await nextTurn();
  }
  const listSize = list.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([...parts, ...list, endRecord(list.length, listSize, offset)]);
}

interface Entry {
  name: Buffer;
  packing: number;
  at: number;
  sum: number;
  packed: Buffer;
  size: number;
}

function entryHead(entry: Entry): Buffer {
  const head = Buffer.alloc(30 + entry.name.length);
  head.writeUInt32LE(0x04034b50, 0);
  writeCommon(head, 4, entry);
  entry.name.copy(head, 30);
  return head;
}

function listed(entry: Entry, offset: number): Buffer {
  const line = Buffer.alloc(46 + entry.name.length);
  line.writeUInt32LE(0x02014b50, 0);
  line.writeUInt16LE(zipVersion, 4);
  writeCommon(line, 6, entry);
  line.writeUInt32LE(offset, 42);
  entry.name.copy(line, 46);
  return line;
}

/** What stands both before a file and in the list. */
function writeCommon(target: Buffer, start: number, { name, packing, at, sum, packed, size }: Entry): void {
  target.writeUInt16LE(zipVersion, start);
  target.writeUInt16LE(utf8Names, start + 2);
  target.writeUInt16LE(packing, start + 4);
  target.writeUInt32LE(at, start + 6);
  target.writeUInt32LE(sum, start + 10);
  target.writeUInt32LE(packed.length, start + 14);
  target.writeUInt32LE(size, start + 18);
  target.writeUInt16LE(name.length, start + 22);
}

function endRecord(count: number, listSize: number, listAt: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  // It has room for 65,535; readers that count then count from zero again.
  end.writeUInt16LE(count & 0xffff, 8);
  end.writeUInt16LE(count & 0xffff, 10);
  end.writeUInt32LE(listSize, 12);
  end.writeUInt32LE(listAt, 16);
  return end;
}

/** Two seconds are as fine as it gets, and 1980 is where it begins. */
function dosTime(at: Date): number {
  const date = ((at.getFullYear() - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate();
  const time = (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}
