import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { until } from '../../test/kit/until.ts';
import { CommitMark } from './commit-mark.ts';
import { Database } from './index.ts';

let folder: string;
let mine: Database;
let other: Database;
let unmarked: Database;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-mark-'));
  const path = join(folder, 'state.db');
  mine = new Database(path, { isMarked: true });
  await mine.migrate('t', ['CREATE TABLE t (n INTEGER)']);
  other = new Database(path, { isMarked: true });
  unmarked = new Database(path);
});
after(async () => {
  for (const each of [mine, other, unmarked]) await each.close();
  await rm(folder, { recursive: true });
});

const insert = (db: Database): Promise<number> => db.write(() => db.run('INSERT INTO t VALUES (1)'));
const versionNow = async (db: Database): Promise<number> => {
  await nextTurn();
  return db.outsideVersion();
};

test('what another has committed is seen in the next turn, every time', async () => {
  for (let round = 0; round < 50; round++) {
    const before = await versionNow(mine);
    await insert(other);
    assert.notEqual(await versionNow(mine), before, `round ${round}`);
  }
});

test('one of our own commits in between does not hide it', async () => {
  const before = await versionNow(mine);
  await insert(other);
  await insert(mine);
  assert.notEqual(await versionNow(mine), before);
});

test('a turn that takes long does not hold it back', async () => {
  const version = await versionNow(mine);
  // Elsewhere somebody commits, and is answered, while we are busy.
  const elsewhere = new DatabaseSync(join(folder, 'state.db'));
  const mark = new CommitMark(join(folder, 'state.db-mark'));
  elsewhere.exec('INSERT INTO t VALUES (1)');
  mark.renew();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  assert.notEqual(mine.outsideVersion(), version);
  mark.close();
  elsewhere.close();
});

test('our own commits are nobody else’s', async () => {
  const before = await versionNow(mine);
  await insert(mine);
  assert.equal(await versionNow(mine), before);
});

test('what came without a mark is seen a little later', async () => {
  const before = await versionNow(mine);
  await insert(unmarked);
  await until(async () => (await versionNow(mine)) !== before, 5_000);
});

test('the mark is for the owner alone', async () => {
  const { mode, size } = await stat(join(folder, 'state.db-mark'));
  assert.deepEqual([mode & 0o777, size], [0o600, 8]);
});
