import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from './sqlite.ts';
import { sqliteResults } from './results.ts';

const folder = await mkdtemp(join(tmpdir(), 'oub-results-'));
const db = new Database(join(folder, 'state.db'));
const files = join(folder, 'results');
await mkdir(files);
const results = await sqliteResults(db, files);
after(async () => {
  results.close();
  await db.close();
  await rm(folder, { recursive: true });
});

test('answers the lines asked for, wherever they lie in the file', async () => {
  const all = Array.from({ length: 3000 }, (_, i) => `line ${i + 1} ${'ä'.repeat(i % 50)}`);
  const kept = await results.put('me', all.join('\n'), 60);
  assert.equal(kept.totalLines, 3000);
  assert.match(kept.handle, /^[0-9a-f]{32}$/);
  for (const [offset, limit] of [
    [1, 100],
    [101, 50],
    [256, 2],
    [257, 1],
    [512, 300],
    [2999, 10],
    [3001, 5],
  ] as const)
    assert.deepEqual(await results.lines(kept, offset, limit), all.slice(offset - 1, offset - 1 + limit));
});

test('a line break at the end starts no further line, and blank lines count', async () => {
  const kept = await results.put('me', 'a\n\nb\n', 60);
  assert.equal(kept.totalLines, 3);
  assert.deepEqual(await results.lines(kept, 1, 10), ['a', '', 'b']);
  assert.equal((await results.put('me', '', 60)).totalLines, 0);
});

test('is found by its owner only, and never by a path', async () => {
  const kept = await results.put('me', 'secret', 60);
  assert.equal(((await results.find('me', kept.handle)) as { handle: string }).handle, kept.handle);
  assert.equal(await results.find('you', kept.handle), undefined);
  for (const odd of ['../state.db', 'nonexistent', '', kept.handle.toUpperCase(), `${kept.handle}.txt`])
    assert.equal(await results.find('me', odd), undefined);
});

test('expires, says so, and leaves no file behind', async () => {
  const kept = await results.put('me', 'soon gone', -1);
  assert.equal(await results.find('me', kept.handle), 'expired');
  await results.sweep();
  assert.equal(await results.find('me', kept.handle), 'expired');
  assert.ok(!(await readdir(files)).includes(`${kept.handle}.txt`));
});

test('removes old files that no row knows, and keeps those that are in use', async () => {
  const stray = join(files, 'stray.txt');
  await writeFile(stray, 'x');
  await utimes(stray, new Date(0), new Date(0));
  const kept = await results.put('me', 'kept', 3600);
  await results.sweep();
  const names = await readdir(files);
  assert.ok(!names.includes('stray.txt'));
  assert.ok(names.includes(`${kept.handle}.txt`));
});
