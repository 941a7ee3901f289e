import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { unzipSync } from 'fflate';
import { writeZip } from './write-zip.ts';
import { zipEntries } from './zip-entries.ts';

test('what is written is read again, by us and by others', async () => {
  const files = fc.uniqueArray(
    fc.tuple(fc.string({ unit: 'binary', minLength: 1 }), fc.uint8Array({ maxLength: 300 })),
    {
      selector: ([name]) => name,
      maxLength: 8,
    },
  );
  await fc.assert(
    fc.asyncProperty(files, fc.constantFrom(0, 1, 6), async (given, level) => {
      const wanted = new Map(given.map(([name, bytes]) => [name, Buffer.from(bytes)]));
      const zip = await writeZip(wanted, level);
      assert.deepEqual(new Map(Array.from(zipEntries(zip), (entry) => [entry.name, entry.read()])), wanted);
      const others = Object.entries(unzipSync(zip)).map(([name, bytes]): [string, Buffer] => [
        name,
        Buffer.from(bytes),
      ]);
      const named = [...wanted].filter(([name]) => name !== '__proto__').sort();
      assert.deepEqual(others.sort(), named);
    }),
    { numRuns: 200 },
  );
});

test('a large file takes turns with others while it is made', async () => {
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const bytes = Buffer.from('{"a":1}'.repeat(2000));
  const zip = await writeZip(
    Array.from({ length: 3000 }, (_, at) => [`${at}`, bytes] as const),
    6,
  );
  clearInterval(counting);
  assert.ok(zip.length < (3000 * bytes.length) / 10);
  assert.ok(turns > 10, `${turns} turns`);
});
