import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { strToU8, Zip, ZipDeflate, zipSync } from 'fflate';
import { DamagedZip, zipEntries } from './zip-entries.ts';

const text = strToU8('a text that is said again and again and again and again');
const contents = (bytes: Uint8Array): [string, string][] =>
  Array.from(zipEntries(bytes), (entry) => [entry.name, Buffer.from(entry.read()).toString()]);
const expected = [
  ['a/ä.txt', Buffer.from(text).toString()],
  ['b', ''],
];
const files = { 'a/ä.txt': text, b: new Uint8Array(0) };

/** The same file with one number of its list changed. */
function changed(bytes: Uint8Array, at: number, value: number, size: 2 | 4 = 4): Buffer {
  const copy = Buffer.from(bytes);
  const listed = copy.indexOf('PK\x01\x02', 0, 'latin1');
  copy.writeUIntLE(value, listed + at, size);
  return copy;
}

test('files come out as they went in, packed or not, whoever wrote them', () => {
  for (const level of [0, 6] as const) {
    const bytes = zipSync(files, { level, comment: 'PK\x05\x06 in a remark' });
    assert.deepEqual(contents(bytes), expected);
    // A piece of a larger buffer is as good.
    assert.deepEqual(contents(Buffer.concat([Buffer.from('before'), bytes]).subarray(6)), expected);
  }
  const chunks: Uint8Array[] = [];
  const streamed = new Zip((_, chunk) => void chunks.push(chunk));
  for (const [name, bytes] of Object.entries(files)) {
    const file = new ZipDeflate(name);
    streamed.add(file);
    file.push(bytes, true);
  }
  streamed.end();
  assert.deepEqual(contents(Buffer.concat(chunks)), expected);
});

test('more files than the end can count are all found', () => {
  const many = Object.fromEntries(Array.from({ length: 70_000 }, (_, at) => [`${at}`, new Uint8Array(0)]));
  assert.equal([...zipEntries(zipSync(many, { level: 0 }))].length, 70_000);
});

test('a file is unpacked no further than it says it is large, and must be what was packed', () => {
  const bytes = zipSync(files);
  const read = (file: Uint8Array) => () => [...zipEntries(file)].forEach((entry) => entry.read());
  const bomb = zipSync({ a: new Uint8Array(2 ** 20) });
  assert.throws(read(changed(bomb, 24, 100)), { code: 'ERR_BUFFER_TOO_LARGE' });
  assert.throws(read(changed(bytes, 24, 1000)), DamagedZip);
  assert.throws(read(changed(bytes, 16, 7)), DamagedZip);
  assert.throws(read(changed(bytes, 10, 12, 2)), DamagedZip);
  assert.throws(read(changed(bytes, 20, 0x7fffffff)), DamagedZip);
  assert.throws(read(changed(bytes, 42, 3)), DamagedZip);
});

test('what is no ZIP file holds nothing, and one that is cut off is told', () => {
  for (const nothing of [new Uint8Array(0), strToU8('this is no zip'), new Uint8Array(70_000)])
    assert.deepEqual(contents(nothing), []);
  const bytes = zipSync(files);
  assert.throws(() => contents(changed(bytes, 28, 0xffff, 2)), DamagedZip, 'a name that is longer than the list');
  for (let length = 30; length < bytes.length; length++)
    assert.throws(() => contents(bytes.subarray(0, length)), DamagedZip);
});

test('a file with other bytes gives what was packed, or says so', () => {
  const bytes = zipSync(files);
  const flipped = fc
    .tuple(fc.nat(bytes.length - 1), fc.nat(255))
    .map(([at, value]) => Object.assign(new Uint8Array(bytes), { [at]: value }));
  fc.assert(
    fc.property(flipped, (file) => {
      for (const entry of entriesOrNone(file)) {
        let unpacked: Uint8Array;
        try {
          unpacked = entry.read();
        } catch {
          continue;
        }
        assert.ok([Buffer.from(text).toString(), ''].includes(Buffer.from(unpacked).toString()));
      }
    }),
    { numRuns: 1000 },
  );
});

function* entriesOrNone(file: Uint8Array): ReturnType<typeof zipEntries> {
  try {
    yield* zipEntries(file);
  } catch (error) {
    assert.ok(error instanceof DamagedZip);
  }
}
