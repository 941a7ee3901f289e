import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Call, Failure } from '../../schema/index.ts';
import { called } from './fixtures/called.ts';
import { fsTools } from './index.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-fs-'));
});
after(() => rm(folder, { recursive: true }));

const fs = fsTools(async ({ actor }) => join(folder, actor?.sessionId === 'ses_1' ? 'workspace' : 'root'));
const { call, refused } = called({ fs });

describe('fs', () => {
  before(async () => {
    await mkdir(join(folder, 'root', 'sub', 'deep'), { recursive: true });
    await mkdir(join(folder, 'workspace'));
    await mkdir(join(folder, 'outside'));
    await writeFile(join(folder, 'outside', 'secret.txt'), 'top secret');
    await writeFile(join(folder, 'workspace', 'own.txt'), 'of the session');
    await writeFile(join(folder, 'root', 'notes.txt'), 'one\ntwo\nthree\n');
    await writeFile(join(folder, 'root', 'sub', 'budget.md'), '# Budget\nmuch\n');
    await writeFile(join(folder, 'root', 'sub', 'deep', 'x.bin'), Buffer.from([0, 1, 2, 255]));
    await symlink('../outside/secret.txt', join(folder, 'root', 'leak.txt'));
    await symlink(join(folder, 'outside'), join(folder, 'root', 'leakdir'));
    await symlink('sub/budget.md', join(folder, 'root', 'inner.md'));
    execFileSync('mkfifo', [join(folder, 'root', 'pipe')]);
  });

  test('reads files and parts of them', async () => {
    assert.deepEqual(await call('fs.readfile', { path: 'notes.txt' }), {
      path: 'notes.txt',
      size: 14,
      text: 'one\ntwo\nthree\n',
      total_lines: 3,
      offset: 1,
      returned: 3,
      has_more: false,
    });
    const part = await call('fs.readfile', { path: './notes.txt', offset: 2, limit: 1 });
    assert.deepEqual([part.text, part.has_more], ['two', true]);
    assert.equal((await call('fs.readfile', { path: 'sub/deep/x.bin', encoding: 'base64' })).base64, 'AAEC/w==');
    await refused('fs.readfile', { path: 'sub/deep/x.bin' }, /no text file/);
    await refused('fs.readfile', { path: 'sub' }, /is a folder/);
    for (const path of ['.', '']) await refused('fs.readfile', { path }, /^\. is a folder/);
    await refused('fs.readfile', { path: 'gone.txt' }, /no (such )?file/);
    assert.match((await call('fs.readfile', { path: 'inner.md' })).text, /Budget/);
  });

  test('there is no way out', async () => {
    for (const path of [
      '../outside/secret.txt',
      'sub/../../outside/secret.txt',
      'leak.txt',
      'leakdir/secret.txt',
      'leakdir',
      '/etc/passwd',
      '....//outside',
      'a\0b',
      '/proc/self/environ',
    ])
      for (const name of ['fs.readfile', 'fs.listdir', 'fs.searchfiles'])
        await assert.rejects(
          call(name, { path }),
          (error: Failure) => error.code === 'tool.failed' && !error.message.includes('top secret'),
          `${name} ${path}`,
        );
    assert.deepEqual((await call('fs.searchfiles', { pattern: '**', text: 'secret' })).files, []);
  });

  test('a pipe is refused without waiting', { timeout: 60_000 }, async () => {
    await refused('fs.readfile', { path: 'pipe' }, /no regular file/);
  });

  test('a folder that is swapped for a link while it is read leads nowhere', async () => {
    const [inner, aside] = [join(folder, 'root', 'swap'), join(folder, 'root', 'swap-aside')];
    await mkdir(inner);
    await writeFile(join(inner, 'secret.txt'), 'harmless');
    let isOver = false;
    const swapping = (async () => {
      while (!isOver) {
        await rename(inner, aside);
        await symlink(join(folder, 'outside'), inner);
        await rm(inner);
        await rename(aside, inner);
      }
    })();
    for (let i = 0; i < 200; i++) {
      const text = await call('fs.readfile', { path: 'swap/secret.txt' }).then(
        (answer) => answer.text,
        () => 'refused',
      );
      assert.notEqual(text, 'top secret');
    }
    isOver = true;
    await swapping;
  });

  test('lists, searches and looks', async () => {
    const { entries } = await call('fs.listdir', {});
    assert.deepEqual(
      entries
        .filter((entry: { name: string }) => ['notes.txt', 'sub', 'leak.txt', 'pipe'].includes(entry.name))
        .map((entry: { name: string; type: string }) => `${entry.name} ${entry.type}`),
      ['leak.txt link', 'notes.txt file', 'pipe other', 'sub folder'],
    );
    assert.equal((await call('fs.listdir', { limit: 1 })).truncated, true);
    const found = await call('fs.searchfiles', { pattern: '*.md', text: 'BUDGET' });
    assert.deepEqual(found.files, [{ path: 'sub/budget.md', size: 14, matches: [{ line: 1, text: '# Budget' }] }]);
    assert.deepEqual(
      (await call('fs.searchfiles', { pattern: 'sub/**/*.bin' })).files.map((file: { path: string }) => file.path),
      ['sub/deep/x.bin'],
    );
    assert.deepEqual(
      (await call('fs.searchfiles', { path: 'sub', pattern: 'sub/*' })).files.map(
        (file: { path: string }) => file.path,
      ),
      ['sub/budget.md'],
    );
    assert.deepEqual(await call('fs.statpath', { path: 'gone' }), { path: 'gone', exists: false });
    assert.equal((await call('fs.statpath', { path: 'sub' })).type, 'folder');
    await refused('fs.statpath', { path: '../outside' }, /.+/);
  });

  test('a session sees its workspace and not the configured folder', async () => {
    const inSession = { actor: { sessionId: 'ses_1' } as Call['actor'] };
    assert.equal((await call('fs.readfile', { path: 'own.txt' }, inSession)).text, 'of the session');
    await assert.rejects(call('fs.readfile', { path: 'notes.txt' }, inSession));
  });

  test('writing is shipped switched off, needs write, and never follows a link', async () => {
    const tool = fs.tools.find((each) => each.slug === 'writefile');
    assert.deepEqual([tool?.isEnabled, tool?.level], [false, 'write']);
    assert.deepEqual(await call('fs.writefile', { path: 'new.txt', text: 'a' }), { path: 'new.txt', size: 1 });
    await refused('fs.writefile', { path: 'new.txt', text: 'b' }, /there already/);
    assert.equal((await call('fs.writefile', { path: 'new.txt', text: 'b', mode: 'append' })).size, 2);
    await call('fs.writefile', { path: 'new.txt', text: 'c', mode: 'replace' });
    assert.equal(await readFile(join(folder, 'root', 'new.txt'), 'utf8'), 'c');
    for (const mode of ['create', 'replace', 'append'])
      for (const path of ['leak.txt', 'leakdir/x.txt', '../outside/x.txt'])
        await refused('fs.writefile', { path, text: 'x', mode }, /.+/);
    assert.equal(await readFile(join(folder, 'outside', 'secret.txt'), 'utf8'), 'top secret');
  });

  test('without a folder it says which line to add', async () => {
    const tool = fsTools(async () => undefined).tools[0];
    await assert.rejects(async () => tool?.run({ path: 'x' }, {} as Call), /fs: \{ root:/);
  });
});
