import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants, mkdtemp, open, readFile, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { writeWhole } from './write-whole.ts';

const folder = await mkdtemp(join(tmpdir(), 'oub-whole-'));
after(() => rm(folder, { recursive: true, force: true }));

test('a file is replaced whole, or stays as it was and nothing is left beside it', async () => {
  const file = join(folder, 'bundles.zip');
  await writeWhole(file, Buffer.from('first'));
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    throw new Error('no space left');
  }
  await assert.rejects(writeWhole(file, broken()), /no space left/);
  assert.equal(await readFile(file, 'utf8'), 'first');
  await writeWhole(file, Buffer.from('second'));
  assert.equal(await readFile(file, 'utf8'), 'second');
  assert.deepEqual(await readdir(folder), ['bundles.zip']);
  await symlink(file, join(folder, 'link.zip'));
  await writeWhole(join(folder, 'link.zip'), Buffer.from('third'));
  assert.equal(await readFile(file, 'utf8'), 'third');
});

test('what is no plain file is written to, not replaced', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Opened for both, so that nobody waits for anybody.
  const reader = await open(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  await writeWhole(pipe, Buffer.from('x'));
  assert.equal((await reader.read(Buffer.alloc(1), 0, 1, null)).bytesRead, 1);
  await reader.close();
});
