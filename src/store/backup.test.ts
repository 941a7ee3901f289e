import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { backupHome, restoreHome } from './backup.ts';
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
  const db = new Database(join(root, 'state.db'));
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
  for (const transient of ['server.json', 'run', 'state.db-wal']) assert.ok(!names.includes(transient), transient);
  assert.deepEqual((await readdir(join(target, 'catalog'))).sort(), ['first']);
  assert.ok(!(await readdir(root)).some((name) => name.startsWith('run-backup-')), 'nothing is left behind');
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
  const hostile: Record<string, { name: string; body?: string; type?: 'symlink' | 'fifo'; linkname?: string }[]> = {
    climbs: [manifest, { name: '../evil', body: 'x' }],
    absolute: [manifest, { name: '/tmp/evil', body: 'x' }],
    'through-link': [manifest, { name: 'out', type: 'symlink', linkname: scratch }, { name: 'out/evil', body: 'x' }],
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
