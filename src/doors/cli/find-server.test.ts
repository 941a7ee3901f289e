import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cannotWrite } from './failure.ts';
import { findServer } from './find-server.ts';

test('a home that may not be read is not called one without a server', async () => {
  const home = await mkdtemp(join(tmpdir(), 'oub-closed-'));
  await assert.rejects(findServer(home, {}), { code: 'server.not_running' });
  await chmod(home, 0o000);
  const isRoot = process.getuid?.() === 0;
  // Root may read anything.
  if (isRoot) process.seteuid!(65_534);
  try {
    await assert.rejects(findServer(home, {}), { code: 'home.unusable', message: /^You may not read .* \(EACCES\)\./ });
  } finally {
    if (isRoot) process.seteuid!(0);
    await rm(home, { recursive: true });
  }
});

test('a failure names the file that it is about', () => {
  const failed = (path: string) => Object.assign(new Error('no'), { code: 'EACCES', syscall: 'open', path });
  assert.throws(() => cannotWrite('/a/b.tgz')(failed('/a/b.tgz.1.tmp')), {
    message: '/a/b.tgz cannot be written (EACCES)',
  });
  assert.throws(() => cannotWrite('/a/b.tgz')(failed('/home/x/run-1')), {
    message: '/home/x/run-1 cannot be used (EACCES)',
  });
});
