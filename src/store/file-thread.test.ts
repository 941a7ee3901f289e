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
    const moves = made.map(({ temp }, n) => ({ temp, path: join(folder, `many-${n}`) }));
    assert.deepEqual([...new Set(await files.place(moves, [folder]))], [true]);
    for (const n of [0, 1, 150, 299]) assert.equal(await readFile(join(folder, `many-${n}`), 'utf8'), texts[n]);
    const info = await stat(join(folder, 'many-7'));
    assert.equal(info.mode & 0o777, 0o600);
    assert.deepEqual([info.mtimeMs, info.size], [made[7]?.mtimeMs, made[7]?.size]);
    assert.deepEqual(await readdir(drafts), []);
  });

  it('lets one of two take a place and tells the other', async () => {
    const [first, second] = await Promise.all([files.draft(drafts, 'first'), files.draft(drafts, 'second')]);
    const path = join(folder, 'one');
    assert.deepEqual(await files.place([{ temp: first.temp, path }, { temp: second.temp, path }], [folder]), [true, false]);
    assert.equal(await readFile(path, 'utf8'), 'first');
    assert.deepEqual(await readdir(drafts), []);
  });

  it('says why the system refused, for each file by itself', async () => {
    await assert.rejects(files.draft(join(folder, 'missing'), 'x'), { code: 'ENOENT' });
    const [good, bad] = await Promise.all([files.draft(drafts, 'good'), files.draft(drafts, 'bad')]);
    const moves = [
      { temp: bad.temp, path: join(folder, 'missing', 'bad') },
      { temp: good.temp, path: join(folder, 'good') },
    ];
    const [refused, placed] = await files.place(moves, [folder]);
    assert.equal((refused as NodeJS.ErrnoException).code, 'ENOENT');
    assert.equal(placed, true);
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
