import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, test } from 'node:test';
import { openBlobs, type Blobs } from './blobs.ts';
import { Database } from './sqlite.ts';

let home: string;
let folder: string;
let db: Database;
let blobs: Blobs;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-blobs-'));
  folder = join(home, 'blobs');
  await mkdir(folder);
  db = new Database(join(home, 'state.db'));
  blobs = await openBlobs(db, folder);
});
afterEach(async () => {
  blobs.close();
  await db.close();
  await rm(home, { recursive: true });
});

async function* bytes(words: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(words);
}

test('what is too large leaves nothing behind', async () => {
  await assert.rejects(blobs.put('me', bytes('12345'), { maxBytes: 4 }), { code: 'body.too_large' });
  assert.deepEqual(await readdir(folder), []);
});

test('what was given a time is gone after it, the rest stays', async () => {
  const dayMs = 24 * 3600_000;
  const stays = await blobs.put('me', bytes('uploaded'), { maxBytes: 100 });
  const goes = await blobs.put('me', bytes('answered'), { maxBytes: 100, keepForMs: dayMs });
  const over = await blobs.put('me', bytes('over'), { maxBytes: 100, keepForMs: 0 });
  assert.equal(await blobs.get(over.id), undefined);
  assert.equal((await blobs.get(goes.id))?.size, 8);
  await blobs.sweep();
  assert.deepEqual((await readdir(folder)).sort(), [stays.id, goes.id].sort());
  await blobs.sweep(Date.now() + 2 * dayMs);
  assert.deepEqual(await readdir(folder), [stays.id]);
  assert.equal(await text(blobs.read(stays.id)), 'uploaded');
});

test('files that a killed process left behind are removed when they are old', async () => {
  for (const name of ['.1234.tmp', 'blob_without_a_row', '.5678.tmp']) await writeFile(join(folder, name), 'x');
  const twoHoursAgo = Date.now() / 1000 - 7200;
  for (const name of ['.1234.tmp', 'blob_without_a_row']) await utimes(join(folder, name), twoHoursAgo, twoHoursAgo);
  await blobs.sweep();
  assert.deepEqual(await readdir(folder), ['.5678.tmp'], 'a young one may be on its way');
});
