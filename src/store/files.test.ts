import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeFolder } from './files.ts';

const scratch = await mkdtemp(join(tmpdir(), 'oub-files-'));
after(() => rm(scratch, { recursive: true, force: true }));

test('a folder is made with those above it, private, by many at once', async () => {
  const path = join(scratch, 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 20 }, () => makeFolder(path)));
  for (const each of ['a', 'a/b', 'a/b/c']) assert.equal((await stat(join(scratch, each))).mode & 0o777, 0o700, each);
});

test('where no folder can be made the answer is an error, not a hang', { timeout: 60_000 }, async () => {
  await writeFile(join(scratch, 'file'), 'x');
  await assert.rejects(makeFolder(join(scratch, 'file')), { code: 'EEXIST' });
  await assert.rejects(makeFolder(join(scratch, 'file', 'below')), { code: 'EEXIST' });
  if (process.platform === 'linux') await assert.rejects(makeFolder('/proc/nothing/below'), { code: 'ENOENT' });
});
