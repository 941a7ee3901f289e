import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { diffSince, takeSnapshot } from './workspace-diff.ts';

let outer: string;
let root: string;
let store: string;
beforeEach(async () => {
  outer = await mkdtemp(join(tmpdir(), 'oub-diff-'));
  root = join(outer, 'workspace');
  store = join(outer, 'snapshots', 'w');
  await mkdir(root);
});
afterEach(() => rm(outer, { recursive: true }));

describe('the diff of a workspace', () => {
  test('is empty without a snapshot and without a change', async () => {
    assert.deepEqual(await diffSince(root, store), { since: null, files: [], diff: '', truncated: false });
    await writeFile(join(root, 'a'), 'one\n');
    await takeSnapshot(root, store);
    const none = await diffSince(root, store);
    assert.ok(none.since);
    assert.deepEqual([none.files, none.diff], [[], '']);
  });

  test('names what was added, changed and removed, with the lines', async () => {
    await writeFile(join(root, 'changed.txt'), 'one\ntwo\nthree\n');
    await writeFile(join(root, 'removed.txt'), 'gone\n');
    await takeSnapshot(root, store);
    await writeFile(join(root, 'changed.txt'), 'one\n2\nthree\n');
    await rm(join(root, 'removed.txt'));
    await mkdir(join(root, 'deep'));
    await writeFile(join(root, 'deep/added.txt'), 'new\n');
    const { files, diff } = await diffSince(root, store);
    assert.deepEqual(files, [
      { path: 'changed.txt', change: 'changed' },
      { path: 'deep/added.txt', change: 'added' },
      { path: 'removed.txt', change: 'removed' },
    ]);
    assert.match(diff, /-two\n\+2\n/);
    assert.match(diff, /--- \/dev\/null[^]*\+\+\+ b\/deep\/added\.txt[^]*\+new/);
    assert.match(diff, /--- a\/removed\.txt[^]*\+\+\+ \/dev\/null[^]*-gone/);
  });

  test('tells binary files apart without showing them, and shows nothing behind links', async () => {
    await writeFile(join(outer, 'secret'), 'secret');
    await writeFile(join(root, 'bin'), Buffer.from([0, 1, 2]));
    await takeSnapshot(root, store);
    await writeFile(join(root, 'bin'), Buffer.from([0, 1, 3]));
    await symlink('../secret', join(root, 'leak'));
    const { files, diff } = await diffSince(root, store);
    assert.deepEqual(files, [{ path: 'bin', change: 'changed' }]);
    assert.equal(diff, 'Files a/bin and b/bin differ\n');
  });

  test('of two texts without a common line comes in bounded time', async () => {
    const lines = (seed: string): string => Array.from({ length: 20_000 }, (_, i) => `${seed}${i}`).join('\n');
    await writeFile(join(root, 'big'), lines('a'));
    await takeSnapshot(root, store);
    await writeFile(join(root, 'big'), lines('b'));
    const { files } = await diffSince(root, store);
    assert.equal(files.length, 1);
  });

  test('says when a workspace has too many files to be looked at', async () => {
    for (let i = 0; i < 5001; i++) await writeFile(join(root, String(i)), '');
    await takeSnapshot(root, store);
    assert.equal((await diffSince(root, store)).truncated, true);
  });
});
