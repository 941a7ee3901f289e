import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chown,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  readlink,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { extract } from 'tar-stream';
import type { Failure } from '../schema/index.ts';
import { until } from '../../test/kit/until.ts';
import { archive, readPlace, removePlace, writePlace } from './index.ts';

let outer: string;
let root: string;
beforeEach(async () => {
  outer = await mkdtemp(join(tmpdir(), 'oub-files-'));
  root = join(outer, 'workspace');
  await mkdir(root);
  await writeFile(join(outer, 'secret.txt'), 'secret');
});
afterEach(() => rm(outer, { recursive: true }));

const code = (expected: string) => (error: Failure) => error.code === expected;
async function* bytes(...chunks: string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}
async function textOf(path: string): Promise<string> {
  const found = await readPlace(root, path);
  assert.equal(found.type, 'file');
  if (found.type !== 'file') return '';
  const text = await found.handle.readFile('utf8');
  await found.handle.close();
  return text;
}

describe('files of a workspace', () => {
  test('are written with their folders and read back', async () => {
    assert.equal((await writePlace(root, 'a/b/c.txt', bytes('he', 'llo'), 100)).isNew, true);
    assert.equal(await textOf('a/b/c.txt'), 'hello');
    assert.equal((await writePlace(root, 'a/b/c.txt', bytes('again'), 100)).isNew, false);
    const folder = await readPlace(root, 'a');
    assert.deepEqual(folder.type === 'folder' && folder.entries.map(({ name, type }) => [name, type]), [
      ['b', 'folder'],
    ]);
    const top = await readPlace(root, '');
    assert.deepEqual(top.type === 'folder' && top.entries.map((entry) => entry.name), ['a']);
  });

  test('go into the same new folder from many sides at once', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `new/${n % 2}/deeper/${n}.txt`);
    await Promise.all(names.map((name) => writePlace(root, name, bytes(name), 100)));
    for (const name of names) assert.equal(await textOf(name), name);
  });

  test('swapped for a link while they are written never change whose the target is', async () => {
    const before = await stat(join(outer, 'secret.txt'));
    if (process.getuid?.() === 0) await chown(root, before.uid + 1, before.gid + 1);
    async function* swapping(): AsyncGenerator<Buffer> {
      yield Buffer.from('x');
      const [temp] = await readdir(root);
      await unlink(join(root, temp!));
      await symlink('../secret.txt', join(root, temp!));
    }
    await writePlace(root, 'file', swapping(), 100);
    const after = await stat(join(outer, 'secret.txt'));
    assert.deepEqual([after.uid, after.gid], [before.uid, before.gid]);
    assert.equal(await readFile(join(outer, 'secret.txt'), 'utf8'), 'secret');
  });

  test('beyond the cap are refused and leave nothing behind', async () => {
    await assert.rejects(writePlace(root, 'big', bytes('12345', '67890'), 8), code('body.too_large'));
    assert.deepEqual(await readdir(root), []);
  });

  test('named .. are refused everywhere', async () => {
    for (const path of ['..', '../secret.txt', 'a/../../secret.txt', 'a/..'])
      for (const attempt of [
        () => readPlace(root, path),
        () => writePlace(root, path, bytes('x'), 9),
        () => removePlace(root, path),
      ])
        await assert.rejects(attempt, code('file.refused'));
  });

  test('with impossible names are a bad request', async () => {
    for (const path of ['a\0b', 'x'.repeat(300), 'a/'.repeat(3000)])
      await assert.rejects(readPlace(root, path), code('request.invalid'));
    await assert.rejects(writePlace(root, '', bytes('x'), 9), code('request.invalid'));
  });

  test('behind links that lead out are refused for reading, writing and removing', async () => {
    await symlink(outer, join(root, 'out'));
    await symlink('../secret.txt', join(root, 'file'));
    await symlink('/etc', join(root, 'etc'));
    await symlink('loop', join(root, 'loop'));
    for (const path of ['out/secret.txt', 'file', 'etc/passwd', 'loop'])
      await assert.rejects(readPlace(root, path), code('file.refused'));
    for (const path of ['out/new', 'etc/new'])
      await assert.rejects(writePlace(root, path, bytes('x'), 9), code('file.refused'));
    await assert.rejects(removePlace(root, 'out/secret.txt'), code('file.refused'));
    assert.equal(await readFile(join(outer, 'secret.txt'), 'utf8'), 'secret');
  });

  test('behind links that stay inside are reached, also by the path the agent knows', async () => {
    await writePlace(root, 'real/x', bytes('inside'), 100);
    await symlink('real', join(root, 'relative'));
    await symlink('/workspace/real/x', join(root, 'absolute'));
    assert.equal(await textOf('relative/x'), 'inside');
    assert.equal(await textOf('absolute'), 'inside');
  });

  test('are removed with a link in them, and what the link shows stays', async () => {
    await mkdir(join(root, 'd/e'), { recursive: true });
    await symlink(outer, join(root, 'd/e/out'));
    await removePlace(root, 'd');
    assert.deepEqual(await readdir(root), []);
    assert.equal(await readFile(join(outer, 'secret.txt'), 'utf8'), 'secret');
    await assert.rejects(removePlace(root, 'd'), code('file.not_found'));
  });

  test('that are pipes do not hold a reader up', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')]);
    await assert.rejects(readPlace(root, 'pipe'), code('file.refused'));
  });

  test('come as one archive without what links show', async () => {
    await writePlace(root, 'a/one', bytes('1'), 9);
    await writePlace(root, 'two', bytes('22'), 9);
    await symlink('../secret.txt', join(root, 'leak'));
    const seen: Record<string, string> = {};
    const reading = (await archive(root, '', 1000)).pipe(extract());
    for await (const entry of reading) {
      const chunks: Buffer[] = [];
      for await (const chunk of entry) chunks.push(chunk as Buffer);
      seen[entry.header.name] = Buffer.concat(chunks).toString();
    }
    assert.deepEqual(seen, { a: '', 'a/one': '1', two: '22' });
  });

  test('leave nothing open when a path leads nowhere or the reader of an archive goes away', async () => {
    await writePlace(root, 'plain', bytes('x'), 9);
    await writeFile(join(root, 'large'), Buffer.alloc(4_000_000));
    await assert.rejects(removePlace(root, 'gone/file'), code('file.not_found'));
    await assert.rejects(removePlace(root, 'plain/file'), code('file.not_found'));
    await assert.rejects(archive(root, 'gone', 1000), code('file.not_found'));
    await assert.rejects(archive(root, 'plain', 1000), code('file.not_found'));
    const left = await archive(root, '', 9_000_000);
    left.on('error', () => {});
    await once(left, 'readable');
    left.destroy();
    await until(async () => (await openBelow(root)).length === 0);
  });
});

/** What this process holds open in a folder; one that is forgotten ends the process when it is collected. */
async function openBelow(folder: string): Promise<string[]> {
  const names = await Promise.all(
    (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return names.filter((name) => name.startsWith(folder));
}
