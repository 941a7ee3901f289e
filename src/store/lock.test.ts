import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { asFailure } from '../schema/index.ts';
import { ProcessLock } from './lock.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-lock-'));
});
after(() => rm(folder, { recursive: true, force: true }));

test('a lock that another never lets go of is not waited for without end, and the failure has a name', async () => {
  const path = join(folder, 'lock');
  const stopped = new ProcessLock(path);
  const waiting = new ProcessLock(path, 50);
  const isLocked = (error: unknown): boolean => asFailure(error).code === 'home.locked';
  await stopped.hold(async () => {
    await assert.rejects(
      waiting.hold(async () => 'got it'),
      isLocked,
    );
    assert.throws(() => waiting.holdBlocking(() => 'got it'), isLocked);
  });
  assert.equal(await waiting.hold(async () => 'got it'), 'got it');
  assert.equal(
    waiting.holdBlocking(() => 'got it'),
    'got it',
  );
  await stopped.close();
  await waiting.close();
});

test('those who wait behind each other for such a lock are told together', async () => {
  const path = join(folder, 'shared');
  const stopped = new ProcessLock(path);
  const waiting = new ProcessLock(path, 400);
  const startedAt = performance.now();
  await stopped.hold(async () => {
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => waiting.hold(async () => 'got it')));
    assert.ok(all.every((each) => each.status === 'rejected' && asFailure(each.reason).code === 'home.locked'));
  });
  assert.ok(performance.now() - startedAt < 1600, 'one patience, not five');
  assert.equal(await waiting.hold(async () => 'got it'), 'got it');
  await stopped.close();
  await waiting.close();
});
