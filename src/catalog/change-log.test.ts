import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Database } from '../store/index.ts';
import { ChangeLog } from './change-log.ts';

describe('the log of changes', () => {
  let folder: string;
  let db: Database;
  let we: ChangeLog;
  let they: ChangeLog;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oub-log-'));
    const path = join(folder, 'changes.db');
    db = new Database(path);
    we = await ChangeLog.open(path);
    they = await ChangeLog.open(path);
  });
  after(async () => {
    for (const each of [db, we, they]) await each.close();
    await rm(folder, { recursive: true });
  });

  /** As the thread that makes files tells of them. */
  const made = (...paths: string[]): Promise<void> =>
    db.write((tx) => {
      for (const path of paths)
        tx.run(
          'INSERT INTO catalog_changes (path, name, owner, writer) VALUES (?, ?, ?, ?)',
          path,
          path,
          path,
          they.writer,
        );
    });
  const last = (): number => we.newsSince(0).upTo;

  it('tells apart what others made and what they changed, and says nothing of our own', async () => {
    await made('a', 'b');
    await they.tell(['b', 'c']);
    await we.tell(['ours']);
    const { made: isMade, changed, upTo, isBroken } = we.newsSince(0);
    assert.deepEqual([...isMade], ['a', 'b']);
    assert.deepEqual([...changed], ['b', 'c']);
    assert.equal(upTo, 5);
    assert.equal(isBroken, false);
  });

  it('knows what was told lately, row by row, and forgets what is older', async () => {
    const has = (from: number, ...paths: string[]): boolean[] => paths.map((path) => we.toldSince(from).has(path));
    assert.deepEqual(has(0, 'a', 'b', 'c', 'ours'), [true, true, true, false]);
    await made('d');
    assert.deepEqual(has(0, 'a', 'd'), [true, true]);
    assert.deepEqual(has(2, 'a', 'b', 'c', 'd'), [false, true, true, true]);
    const from = last();
    assert.deepEqual(has(from, 'b', 'c', 'd'), [false, false, false]);
    await they.tell(['a']);
    await we.tell(['d']);
    assert.deepEqual(has(from, 'a', 'd'), [true, false]);
    assert.deepEqual(has(last(), 'a'), [false]);
  });
});
