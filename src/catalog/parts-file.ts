import { open, readFile, rename, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Written into the file; another number means: made by another version. */
const layout = 1;
const frontBytes = 16;

/** Long arrays and a short description of them, in one file that may be lost at any time. */
export interface Parts<Head> {
  head: Head;
  parts: Record<string, Uint8Array>;
}

interface Front<Head> {
  head: Head;
  sizes: [string, number][];
}

/**
 * Writes the file piece by piece from where the arrays lie. They may change meanwhile: when `isStill` then says no, there
 * is no file.
 */
export async function writeParts<Head>(
  path: string,
  { head, parts }: Parts<Head>,
  isStill: () => boolean,
): Promise<void> {
  const temp = `${path}.${process.pid}.tmp`;
  const sizes = Object.entries(parts).map(([name, data]): [string, number] => [name, data.byteLength]);
  const front = Buffer.from(JSON.stringify({ head, sizes } satisfies Front<Head>));
  await rm(path, { force: true });
  try {
    await using file = await open(temp, 'w', 0o600);
    let crc = 0;
    let at = frontBytes;
    // Arrays of large numbers may start at multiples of eight only.
    for (const data of [front, ...Object.values(parts)].flatMap((each) => [each, gapAfter(each)])) {
      crc = crc32(data, crc);
      await file.write(data, 0, data.byteLength, at);
      at += data.byteLength;
    }
    const start = Buffer.alloc(frontBytes);
    for (const [place, value] of [layout, crc, front.byteLength, at].entries()) start.writeUInt32LE(value, place * 4);
    await file.write(start, 0, frontBytes, 0);
    if (isStill()) await rename(temp, path);
  } finally {
    await rm(temp, { force: true });
  }
}

/** Undefined when there is no such file, or one that is damaged or of another version. */
export async function readParts<Head>(path: string): Promise<Parts<Head> | undefined> {
  const data = await readFile(path).catch(() => undefined);
  if (!data || data.byteLength < frontBytes || data.byteOffset % 8 !== 0) return undefined;
  const [found, crc, frontSize, size] = [0, 4, 8, 12].map((at) => data.readUInt32LE(at)) as [
    number,
    number,
    number,
    number,
  ];
  if (found !== layout || size !== data.byteLength || crc32(data.subarray(frontBytes)) !== crc) return undefined;
  const { head, sizes } = JSON.parse(data.toString('utf8', frontBytes, frontBytes + frontSize)) as Front<Head>;
  const parts: Record<string, Uint8Array> = {};
  let at = frontBytes + roundedUp(frontSize);
  for (const [name, length] of sizes) {
    parts[name] = data.subarray(at, at + length);
    at += roundedUp(length);
  }
  return { head, parts };
}

const gapAfter = ({ byteLength }: Uint8Array): Uint8Array => new Uint8Array(roundedUp(byteLength) - byteLength);

const roundedUp = (size: number): number => Math.ceil(size / 8) * 8;
