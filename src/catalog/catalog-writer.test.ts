import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../test/kit/until.ts';
import { newUuid } from '../schema/index.ts';
import { Database, openHome } from '../store/index.ts';
import { Catalog } from './catalog.ts';

test('a bundle that was revived and deleted again while the reaper waited has two days more', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-reaper-'));
  const home = await openHome(folder);
  const db = new Database(home.stateDb);
  const onTrouble = (error: unknown): void => assert.fail(String(error));
  const catalog = await Catalog.open({ home, db, providers: [], onCorrupt() {}, onTrouble });
  t.after(async () => {
    await catalog.close();
    await db.close();
    await rm(folder, { recursive: true });
  });
  const { writer } = catalog;
  const [again, over] = [newUuid(), newUuid()];
  const bodyOf = (slug: string) => ({ slug, displayName: slug, isEnabled: true });
  await writer.putBundle(again, bodyOf('again'));
  await writer.putBundle(over, bodyOf('over'));
  await writer.deleteBundle(again);
  await writer.deleteBundle(over);
  const deletedBy = Date.now();
  await until(() => Date.now() > deletedBy);
  const [, , reaped] = await Promise.all([
    writer.putBundle(again, bodyOf('again')),
    writer.deleteBundle(again),
    writer.reap(deletedBy + 48 * 3600_000),
  ]);
  assert.deepEqual(reaped, [over]);
  assert.ok((await readdir(home.catalog)).includes(again));
});
