import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, test } from 'node:test';
import { Database, eventsOf, frameOf, openEvents, runAfter, type EventRun } from './index.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-events-'));
});
afterEach(() => rm(folder, { recursive: true }));

const runOf = (first: number, last: number): EventRun => ({
  first,
  last,
  frames: Buffer.from(
    Array.from({ length: last - first + 1 }, (_, i) =>
      frameOf(first + i, 'thought', `"type":"thought","text":"é\\n\\n${first + i}"}`),
    ).join(''),
  ),
});

test('what an older version stored event by event is read as before, and a copy of it is kept', async () => {
  const path = join(folder, 'state.db');
  const old = new DatabaseSync(path);
  old.exec(`CREATE TABLE schema_steps (component TEXT PRIMARY KEY, step INTEGER NOT NULL); INSERT INTO schema_steps VALUES ('events', 1);
    CREATE TABLE events (session_id TEXT NOT NULL, idx INTEGER NOT NULL, type TEXT NOT NULL, tail TEXT NOT NULL,
      PRIMARY KEY (session_id, idx)) STRICT, WITHOUT ROWID`);
  const insert = old.prepare('INSERT INTO events VALUES (?, ?, ?, ?)');
  for (let index = 0; index < 3; index++)
    insert.run('ses_1', index, 'thought', `"type":"thought","text":"é ${index}"}`);
  old.close();

  const db = new Database(path);
  const events = await openEvents(db, folder);
  assert.deepEqual(await events.bounds('ses_1'), { oldest: 0, newest: 2 });
  const runs = await events.read('ses_1', 0, 1000);
  assert.deepEqual(
    runs.flatMap((run) => [...eventsOf(run)]),
    [1, 2].map((index) => ({ index, json: `{"index":${index},"type":"thought","text":"é ${index}"}` })),
  );
  await db.close();
  assert.ok((await readdir(folder)).includes('state.db.before-events-1'));
  assert.equal((await stat(join(folder, 'state.db.before-events-1'))).mode & 0o777, 0o600);
});

test('a cursor in the middle of a run gets the rest of it', async () => {
  const db = new Database(join(folder, 'state.db'));
  const events = await openEvents(db, folder);
  await db.write(() => {
    events.append('ses_1', runOf(0, 4));
    events.append('ses_1', runOf(5, 9));
    events.append('ses_2', runOf(0, 0));
  });
  for (let after = -1; after < 10; after++) {
    const runs = await events.read('ses_1', after, 1_000_000);
    assert.deepEqual(
      runs.flatMap((run) => [...eventsOf(run)].map((event) => event.index)),
      Array.from({ length: 9 - after }, (_, i) => after + 1 + i),
    );
  }
  assert.equal((await events.read('ses_1', -1, 1)).length, 1);
  assert.equal(runAfter(runOf(3, 5), 4).frames.toString(), runOf(5, 5).frames.toString());
  await db.write(() => events.remove('ses_1'));
  assert.equal(await events.bounds('ses_1'), undefined);
  assert.deepEqual(await events.bounds('ses_2'), { oldest: 0, newest: 0 });
  await db.close();
});
