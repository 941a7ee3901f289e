import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { createGzip, gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { backupHome, restoreHome } from './backup.ts';
import { removeTree } from './remove-tree.ts';
import { Database } from './sqlite.ts';

const scratch = await mkdtemp(join(tmpdir(), 'oub-backup-'));
after(() => rm(scratch, { recursive: true, force: true }));

async function home(name: string): Promise<string> {
  const root = join(scratch, name);
  await mkdir(join(root, 'catalog', 'first'), { recursive: true });
  await mkdir(join(root, 'run'));
  await writeFile(join(root, 'catalog', 'first', 'tool.json'), '{"a":1}', { mode: 0o600 });
  await writeFile(join(root, 'admin.token'), 'oub_x', { mode: 0o600 });
  await writeFile(join(root, 'server.json'), '{}');
  await writeFile(join(root, 'run', 'socket'), 'x');
  await writeFile(join(root, 'catalog', '.half.tmp'), 'x');
  await symlink('catalog', join(root, 'link'));
  return root;
}

test('a backup of a home in use holds every acknowledged row and file, and comes back as it was', async () => {
  const root = await home('used');
  const db = new Database(join(root, 'state.db'), { isMarked: true });
  await db.migrate('test', ['CREATE TABLE t (x INTEGER)']);
  for (let i = 0; i < 100; i++) await db.write((each) => each.run('INSERT INTO t VALUES (?)', i));
  const file = join(scratch, 'used.tar.gz');
  const made = await backupHome(root, file);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal(made.bytes, (await stat(file)).size);
  await db.close();

  const target = join(scratch, 'restored');
  const restored = await restoreHome(file, target);
  assert.equal(restored.files, made.files);
  assert.equal(restored.previous, undefined);
  const back = new Database(join(target, 'state.db'));
  assert.deepEqual({ ...back.get<{ n: number }>('SELECT count(*) AS n FROM t') }, { n: 100 });
  await back.close();
  assert.equal(await readFile(join(target, 'catalog', 'first', 'tool.json'), 'utf8'), '{"a":1}');
  assert.equal((await stat(join(target, 'admin.token'))).mode & 0o777, 0o600);
  assert.equal((await stat(target)).mode & 0o777, 0o700);
  const names = await readdir(target);
  assert.ok(names.includes('link'));
  for (const transient of ['server.json', 'run', 'state.db-wal', 'state.db-mark'])
    assert.ok(!names.includes(transient), transient);
  assert.deepEqual((await readdir(join(target, 'catalog'))).sort(), ['first']);
  assert.ok(!(await readdir(root)).some((name) => name.startsWith('run-backup-')), 'nothing is left behind');
});

test('a backup holds what agents call .tmp, passes over what no path can name, and gives them their files back', async () => {
  const root = await home('theirs');
  const workspace = join(root, 'projects', 'p', 'workspaces', 'w');
  await mkdir(workspace, { recursive: true });
  const kept = ['.0123456789abcdef.tmp', 'app.db-wal', 'notes.tmp'];
  for (const name of [...kept, '.0123456789abcdef01.tmp']) await writeFile(join(workspace, name), name);
  const name = 'n'.repeat(100);
  const dig = `for (let i = 0; i < 60; i++) { require('fs').mkdirSync('${name}'); process.chdir('${name}'); }`;
  execFileSync(process.execPath, ['-e', dig], { cwd: workspace });
  const file = join(scratch, 'theirs.tar.gz');
  await backupHome(root, file);
  const target = join(scratch, 'given-back');
  const isRoot = process.getuid?.() === 0;
  await restoreHome(file, target, { uid: 4242, gid: 4243 });
  const back = join(target, 'projects', 'p', 'workspaces', 'w');
  assert.deepEqual((await readdir(back)).sort(), [...kept, name].sort());
  for (const path of [back, join(back, 'notes.tmp'), join(back, name)]) {
    const { uid, gid } = await stat(path);
    if (isRoot) assert.deepEqual([uid, gid], [4242, 4243], path);
  }
  if (isRoot) assert.equal((await stat(join(target, 'admin.token'))).uid, 0);
  await removeTree(root);
});

test('a backup is made while an agent makes, cuts short and removes files', async () => {
  const root = await home('busy');
  const workspace = join(root, 'projects', 'p', 'workspaces', 'w');
  await mkdir(workspace, { recursive: true });
  for (let n = 0; n < 100; n++) await writeFile(join(workspace, `stays-${n}`), 'x'.repeat(n * 100));
  let isOver = false;
  const work = async (): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      const folder = join(workspace, `build-${n % 6}`);
      await mkdir(folder, { recursive: true });
      for (let each = 0; each < 10; each++) await writeFile(join(folder, `f${each}`), 'y'.repeat(100_000));
      await truncate(join(folder, 'f5'), 10);
      await rm(join(workspace, `build-${(n + 3) % 6}`), { recursive: true, force: true });
    }
  };
  const working = work();
  try {
    for (let n = 0; n < 3; n++) {
      const file = join(scratch, 'busy.tar.gz');
      await backupHome(root, file);
      const target = join(scratch, `busy-${n}`);
      await restoreHome(file, target);
      const names = await readdir(join(target, 'projects', 'p', 'workspaces', 'w'));
      assert.equal(names.filter((name) => name.startsWith('stays-')).length, 100);
    }
  } finally {
    isOver = true;
    await working;
  }
});

test('a folder that may not be written to, and what lies in it, comes back', async () => {
  const root = await home('closed');
  await mkdir(join(root, 'cache'));
  await writeFile(join(root, 'cache', 'module.txt'), 'kept', { mode: 0o444 });
  await chmod(join(root, 'cache'), 0o555);
  const file = join(scratch, 'closed.tar.gz');
  await backupHome(root, file);
  const place = join(scratch, 'for-anyone');
  await mkdir(place);
  await chmod(scratch, 0o711);
  await chmod(place, 0o777);
  await chmod(file, 0o644);
  const isRoot = process.getuid?.() === 0;
  // Root may write anywhere.
  if (isRoot) process.seteuid!(65_534);
  try {
    await restoreHome(file, join(place, 'restored'));
    assert.equal(await readFile(join(place, 'restored', 'cache', 'module.txt'), 'utf8'), 'kept');
    assert.equal((await stat(join(place, 'restored', 'cache'))).mode & 0o777, 0o555);
  } finally {
    if (isRoot) process.seteuid!(0);
    for (const each of [root, join(place, 'restored')]) await chmod(join(each, 'cache'), 0o700).catch(() => {});
  }
});

test('what an interrupted backup left behind is no part of the next one', async () => {
  const root = await home('interrupted');
  await mkdir(join(root, 'run-backup-Xa1b2c'));
  await writeFile(join(root, 'run-backup-Xa1b2c', 'state.db'), 'half');
  const file = join(scratch, 'interrupted.tar.gz');
  await backupHome(root, file);
  const target = join(scratch, 'uninterrupted');
  await restoreHome(file, target);
  assert.deepEqual((await readdir(target)).sort(), ['admin.token', 'catalog', 'link']);
});

test('a backup that lies in the home is no part of the next one, anything else that is packed is', async () => {
  const root = await home('own');
  await writeFile(join(root, 'mine.tar.gz'), gzipSync('something else'));
  await writeFile(join(root, 'odd.tgz'), 'not packed at all');
  const first = await backupHome(root, join(root, 'monday.tar.gz'));
  const second = await backupHome(root, join(root, 'tuesday.tar.gz'));
  assert.equal(second.files, first.files);
  const target = join(scratch, 'own-restored');
  await restoreHome(join(root, 'tuesday.tar.gz'), target);
  const packed = (await readdir(target)).filter((name) => name.endsWith('gz'));
  assert.deepEqual(packed.sort(), ['mine.tar.gz', 'odd.tgz']);
});

test('a backup takes the place of no pipe or device, only of a file', async () => {
  const root = await home('piped');
  const pipe = join(scratch, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await symlink(pipe, join(scratch, 'pipe.tar.gz'));
  for (const file of [pipe, join(scratch, 'pipe.tar.gz')])
    await assert.rejects(backupHome(root, file), {
      message: `${file} is no plain file. Name a new one, or one to be replaced.`,
    });
  assert.ok((await stat(pipe)).isFIFO());
  const file = join(scratch, 'again-and-again.tar.gz');
  await backupHome(root, file);
  await backupHome(root, file);
  await rm(pipe);
  await rm(join(scratch, 'pipe.tar.gz'));
});

test('a database that cannot be read is named, and no half backup is left', async () => {
  const root = await home('broken');
  await writeFile(join(root, 'state.db'), 'garbage that is no database at all');
  const file = join(scratch, 'broken.tar.gz');
  await assert.rejects(backupHome(root, file), {
    message: /^No backup was made: .*state\.db is damaged \(file is not a database\)\. See: oubliette doctor$/,
  });
  assert.equal(await stat(file).catch(() => undefined), undefined);
});

test('a restore keeps what was there before', async () => {
  const file = join(scratch, 'again.tar.gz');
  await backupHome(await home('first'), file);
  const target = await home('second');
  await writeFile(join(target, 'mine.txt'), 'keep');
  const { previous } = await restoreHome(file, target);
  assert.equal(await readFile(join(previous!, 'mine.txt'), 'utf8'), 'keep');
  assert.ok(!(await readdir(target)).includes('mine.txt'));
});

test('a broken or hostile file changes nothing', async () => {
  const target = await home('safe');
  const before = await readdir(scratch);
  const manifest = { name: 'oubliette-backup.json', body: '{"format":1}' };
  const hostile: Record<
    string,
    { name: string; body?: string; type?: 'symlink' | 'fifo' | 'directory'; linkname?: string; mode?: number }[]
  > = {
    climbs: [manifest, { name: '../evil', body: 'x' }],
    absolute: [manifest, { name: '/tmp/evil', body: 'x' }],
    'through-link': [manifest, { name: 'out', type: 'symlink', linkname: scratch }, { name: 'out/evil', body: 'x' }],
    'over-link': [
      manifest,
      { name: 'out', type: 'symlink', linkname: scratch },
      { name: 'out', type: 'directory', mode: 0o777 },
    ],
    fifo: [manifest, { name: 'pipe', type: 'fifo' }],
    foreign: [{ name: 'readme.txt', body: 'hello' }],
    newer: [{ name: 'oubliette-backup.json', body: '{"format":2}' }],
  };
  for (const [name, entries] of Object.entries(hostile)) {
    const file = join(scratch, `${name}.tar.gz`);
    const archive = pack();
    for (const { body, ...header } of entries) archive.entry(header, body ?? '');
    archive.finalize();
    await pipeline(archive, createGzip(), createWriteStream(file));
    await assert.rejects(restoreHome(file, target), { code: 'import.invalid' }, name);
    await rm(file);
  }
  const garbage = join(scratch, 'garbage.tar.gz');
  await writeFile(garbage, 'not a gzip at all');
  await assert.rejects(restoreHome(garbage, target), { code: 'import.invalid' });
  await assert.rejects(restoreHome(join(scratch, 'missing.tar.gz'), target), { code: 'import.invalid' });
  await rm(garbage);
  assert.deepEqual(await readdir(scratch), before);
  assert.equal(await readFile(join(target, 'admin.token'), 'utf8'), 'oub_x');
});
