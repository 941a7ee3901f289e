import assert from 'node:assert/strict';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { walkTo } from './inside-folder.ts';

test('in a folder that somebody took away nothing is found, and nothing else goes wrong', async () => {
  const gone = join(tmpdir(), 'oub-no-such-folder', 'workspace');
  for (const parts of [[], ['notes.txt'], ['deep', 'notes.txt']])
    await assert.rejects(walkTo(gone, parts), { code: 'file.not_found' }, parts.join('/'));
});
