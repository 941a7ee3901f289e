import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Database } from './index.ts';

let folder: string;
let db: Database;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-sqlite-'));
  db = new Database(join(folder, 'state.db'));
  await db.migrate('t', ['CREATE TABLE t (n INTEGER)']);
});
after(async () => {
  await db.close();
  await rm(folder, { recursive: true });
});

test('answers writes that follow each other at once, one by one and side by side', async () => {
  const chain = async (): Promise<void> => {
    for (let n = 0; n < 50; n++) await db.write(() => db.run('INSERT INTO t VALUES (?)', n));
  };
  await Promise.all([chain(), chain(), chain()]);
  assert.equal(db.get<{ n: number }>('SELECT COUNT(*) AS n FROM t')!.n, 150);
});

test('undoes only the writer that throws', async () => {
  const before = db.get<{ n: number }>('SELECT COUNT(*) AS n FROM t')!.n;
  const [bad, good] = await Promise.allSettled([
    db.write(() => {
      db.run('INSERT INTO t VALUES (-1)');
      throw new Error('no');
    }),
    db.write(() => db.run('INSERT INTO t VALUES (-2)')),
  ]);
  assert.deepEqual([bad.status, good.status], ['rejected', 'fulfilled']);
  assert.equal(db.get<{ n: number }>('SELECT COUNT(*) AS n FROM t')!.n, before + 1);
});
