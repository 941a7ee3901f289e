import assert from 'node:assert/strict';
import { appendFile, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { announcedBytes } from './workspace-files.ts';

const bytesOf = async (sent: Readable | string): Promise<string> => (typeof sent === 'string' ? sent : text(sent));

for (const before of ['', 'first'])
  test(`of a file that held ${JSON.stringify(before)} no more is sent than was announced, however it grows`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'oub-announced-'));
    t.after(() => rm(folder, { recursive: true }));
    const path = join(folder, 'growing');
    await writeFile(path, before);
    const handle = await open(path);
    const { size } = await handle.stat();
    await appendFile(path, 'HTTP/1.1 200 OK\r\n\r\n');
    const sent = await announcedBytes({ handle, size });
    assert.equal(await bytesOf(sent), before);
    assert.equal(handle.fd, -1, 'and it is closed');
  });

test('a file that is cut short while it is sent ends in an error', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-announced-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'shrinking');
  await writeFile(path, 'all of it');
  const handle = await open(path);
  await truncate(path, 3);
  const sent = await announcedBytes({ handle, size: 9 });
  await assert.rejects(bytesOf(sent), /cut short/);
  assert.equal(handle.fd, -1, 'and it is closed');
});
