import assert from 'node:assert/strict';
import { mkdtemp, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openCatalogCache } from './catalog-cache.ts';

describe('the cache of the catalog', () => {
  let folder: string;
  let path: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oub-cache-'));
    path = join(folder, 'cache.db');
  });
  after(() => rm(folder, { recursive: true }));

  const row = (name: string, text = name) => ({ path: name, mtimeMs: 1.5, size: 7, text, summary: `[${name}]` });

  it('answers what was put at once, while it is written, and after it was opened again', async () => {
    const cache = await openCatalogCache(path);
    const names = Array.from({ length: 600 }, (_, n) => `b${n % 3}/tool-${n}`);
    for (const name of names) {
      cache.put(row(name));
      assert.equal(cache.text(name, 1.5, 7), name);
    }
    await new Promise(setImmediate);
    for (const name of names) assert.equal(cache.text(name, 1.5, 7), name);
    assert.equal(cache.text(names[0]!, 2, 7), undefined);
    await cache.close();
    const again = await openCatalogCache(path);
    for (const name of names) assert.equal(again.text(name, 1.5, 7), name);
    assert.deepEqual(again.folders(), ['b0', 'b1', 'b2']);
    assert.equal(again.summaries('b1').length, 200);
    await again.close();
  });

  it('keeps the last of several changes of a file', async () => {
    const cache = await openCatalogCache(path);
    cache.put(row('c/one', 'first'));
    cache.remove(['c/one', 'b0/tool-0']);
    cache.put(row('c/two', 'first'));
    cache.put(row('c/two', 'second'));
    await cache.close();
    const again = await openCatalogCache(path);
    assert.equal(again.text('c/one', 1.5, 7), undefined);
    assert.equal(again.text('b0/tool-0', 1.5, 7), undefined);
    assert.equal(again.text('c/two', 1.5, 7), 'second');
    await again.close();
  });

  it('begins anew where its file is damaged', async () => {
    await writeFile(path, 'this is no database, however long one reads on'.repeat(100));
    const cache = await openCatalogCache(path);
    cache.put(row('d/new'));
    await cache.close();
    const again = await openCatalogCache(path);
    assert.equal(again.text('d/new', 1.5, 7), 'd/new');
    await again.close();
  });

  it('leaves a file alone that is not damaged, only out of reach', async () => {
    const elsewhere = join(folder, 'disk-that-is-not-there', 'cache.db');
    await rm(path);
    await symlink(elsewhere, path);
    await assert.rejects(openCatalogCache(path), { code: 'ENOENT' });
    assert.equal(await readlink(path), elsewhere);
  });
});
