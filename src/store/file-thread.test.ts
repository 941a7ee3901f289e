import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FileThread } from './file-thread.ts';

describe('the thread that works on files', () => {
  const files = new FileThread();
  let folder: string;
  let drafts: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oub-files-'));
    drafts = join(folder, 'drafts');
    await mkdir(drafts);
  });
  after(async () => {
    await files.close();
    await rm(folder, { recursive: true });
  });

  it('places whole files, private to the user, and leaves no draft behind', async () => {
    const texts = Array.from({ length: 300 }, (_, n) => `text ${n} ö`.repeat(n));
    const made = await Promise.all(texts.map((text) => files.draft(drafts, text)));
    const placed = await files.place(made.map((draft, n) => ({ draft, path: join(folder, `many-${n}`) })));
    await Promise.all([files.sync(folder), files.sync(folder), files.sync(folder)]);
    assert.deepEqual(placed, made.map(({ mtimeMs, size }) => ({ mtimeMs, size })));
    for (const n of [0, 1, 150, 299]) assert.equal(await readFile(join(folder, `many-${n}`), 'utf8'), texts[n]);
    const info = await stat(join(folder, 'many-7'));
    assert.equal(info.mode & 0o777, 0o600);
    assert.deepEqual([info.mtimeMs, info.size], [made[7]?.mtimeMs, made[7]?.size]);
    assert.deepEqual(await readdir(drafts), []);
    const alone = await files.create(drafts, 'alone', join(folder, 'alone'));
    assert.ok(alone);
    assert.equal(await readFile(join(folder, 'alone'), 'utf8'), 'alone');
  });

  it('lets one of two take a place and tells the other', async () => {
    const [first, second] = await Promise.all([files.draft(drafts, 'first'), files.draft(drafts, 'second')]);
    const path = join(folder, 'one');
    const [won, lost] = await files.place([{ draft: first, path }, { draft: second, path }]);
    assert.ok(won);
    assert.equal(lost, false);
    assert.equal(await files.create(drafts, 'third', path), false);
    assert.equal(await readFile(path, 'utf8'), 'first');
    assert.deepEqual(await readdir(drafts), []);
  });

  it('says why the system refused, for each file by itself', async () => {
    await assert.rejects(files.draft(join(folder, 'missing'), 'x'), { code: 'ENOENT' });
    const [good, bad] = await Promise.all([files.draft(drafts, 'good'), files.draft(drafts, 'bad')]);
    const moves = [
      { draft: bad, path: join(folder, 'missing', 'bad') },
      { draft: good, path: join(folder, 'good') },
    ];
    const [refused, placed] = await files.place(moves);
    assert.equal((refused as unknown as NodeJS.ErrnoException).code, 'ENOENT');
    assert.ok(placed);
    await assert.rejects(files.sync(join(folder, 'missing')), { code: 'ENOENT' });
    assert.equal(((await files.create(drafts, 'x', join(folder, 'missing', 'x'))) as unknown as NodeJS.ErrnoException).code, 'ENOENT');
    assert.deepEqual(await readdir(drafts), []);
  });

  it('reads only what is not as it was known', async () => {
    await writeFile(join(folder, 'known'), 'now');
    const { mtimeMs, size } = await stat(join(folder, 'known'));
    const ask = () => files.look(folder, [{ path: 'known', mtimeMs, size }, { path: 'none' }, { path: 'drafts' }]);
    assert.deepEqual(await ask(), ['same', 'gone', 'gone']);
    await utimes(join(folder, 'known'), 1, 1);
    assert.deepEqual((await ask())[0], { mtimeMs: 1000, size: 3, text: 'now' });
  });

  it('starts again after it was ended', async () => {
    await files.close();
    const { temp } = await files.draft(drafts, 'again');
    assert.equal(await readFile(temp, 'utf8'), 'again');
  });
});
