import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
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

test('an older file is copied before a step changes it, and brought forward once', async () => {
  const path = join(folder, 'older.db');
  const first = 'CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES (1)';
  const older = new Database(path);
  await older.migrate('notes', [first]);
  await older.close();
  const newer = new Database(path);
  for (let times = 0; times < 2; times++)
    await newer.migrate('notes', [
      first,
      'ALTER TABLE notes ADD COLUMN at TEXT',
      (tx) => void tx.run("UPDATE notes SET at = text || 'x'"),
    ]);
  assert.deepEqual({ ...newer.get<object>('SELECT * FROM notes') }, { text: '1', at: '1x' });
  await newer.close();
  const copy = new Database(`${path}.before-notes-1`);
  assert.deepEqual({ ...copy.get<object>('SELECT * FROM notes') }, { text: '1' });
  await copy.close();
  assert.equal((await stat(`${path}.before-notes-1`)).mode & 0o777, 0o600);
});

test('a file of a newer version is refused, and stays as it is', async () => {
  const path = join(folder, 'newer.db');
  const newer = new Database(path);
  await newer.migrate('notes', ['CREATE TABLE notes (text TEXT)', 'ALTER TABLE notes ADD COLUMN at TEXT']);
  await assert.rejects(newer.migrate('notes', ['CREATE TABLE notes (text TEXT)']), {
    code: 'home.unusable',
    message: /written by a newer version \(notes is at step 2, this program knows 1\)/,
  });
  assert.equal(newer.get<{ step: number }>("SELECT step FROM schema_steps WHERE component = 'notes'")!.step, 2);
  await newer.close();
});
