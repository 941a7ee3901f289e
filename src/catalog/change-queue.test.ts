import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { asFailure } from '../schema/index.ts';
import { FileThread, ProcessLock } from '../store/index.ts';
import { ChangeLog } from './change-log.ts';
import { ChangeQueue } from './change-queue.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-queue-'));
});
after(() => rm(folder, { recursive: true, force: true }));

test('behind a lock that nobody lets go of, all who wait are told together, and the next ones are served', async () => {
  const path = (name: string): string => join(folder, name);
  const log = await ChangeLog.open(path('changes.db'));
  const lock = new ProcessLock(path('lock'), 400);
  const stopped = new ProcessLock(path('lock'));
  const files = new FileThread({
    folder,
    drafts: folder,
    journalPath: path('journal'),
    changesPath: path('changes.db'),
    lockPath: path('lock'),
    writer: log.writer,
  });
  const queue = new ChangeQueue({ log, lock, files, takeIn: async () => {}, takeInLater: () => {} });
  const change = (name: string): Promise<string> => queue.change({ paths: [name], apply: async () => name });
  // More than four groups.
  const many = Array.from({ length: 1100 }, (_, at) => `file-${at}`);
  await stopped.hold(async () => {
    const startedAt = performance.now();
    const all = await Promise.allSettled(many.map((name) => change(name)));
    assert.ok(all.every((each) => each.status === 'rejected' && asFailure(each.reason).code === 'home.locked'));
    assert.ok(performance.now() - startedAt < 1600, 'one patience, not one for each group');
  });
  assert.equal(await change('later'), 'later');
  await files.close();
  await Promise.all([stopped.close(), lock.close(), log.close()]);
});
