import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../../test/kit/until.ts';
import { newUuid, type ToolBody } from '../schema/index.ts';
import { Database, openHome } from '../store/index.ts';
import { Catalog } from './catalog.ts';

const bodyOf = (slug: string) => ({ slug, displayName: slug, isEnabled: true });

async function openCatalog(t: TestContext, onTrouble: (error: unknown) => void) {
  const folder = await mkdtemp(join(tmpdir(), 'oub-writer-'));
  const home = await openHome(folder);
  const db = new Database(home.stateDb);
  const catalog = await Catalog.open({ home, db, providers: [], onCorrupt() {}, onTrouble });
  t.after(async () => {
    await catalog.close();
    await db.close();
    await rm(folder, { recursive: true });
  });
  return { home, catalog, writer: catalog.writer };
}

test('a bundle that was revived and deleted again while the reaper waited has two days more', async (t) => {
  const { writer, home } = await openCatalog(t, (error) => assert.fail(String(error)));
  const [again, over] = [newUuid(), newUuid()];
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

test('what is on disk is answered as done, whatever those do who are told of it', async (t) => {
  const troubles: unknown[] = [];
  const { catalog, writer } = await openCatalog(t, (error) => troubles.push(error));
  const told: string[] = [];
  catalog.onChange((change) => {
    throw new Error(`no ear for ${change.kind}`);
  });
  catalog.onChange(({ kind }) => told.push(kind));
  const bundle = newUuid();
  await writer.putBundle(bundle, bodyOf('heard'));
  const body: ToolBody = {
    displayName: 'x',
    isEnabled: true,
    type: 'function',
    argSchema: {},
    functionImpl: { func: 'demo.foo' },
  };
  const made = await Promise.all(['a', 'b', 'c'].map((slug) => writer.createTool(bundle, slug, 'v1', body)));
  assert.deepEqual(
    made.map(({ slug }) => slug),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(told, ['bundles', 'tools', 'tools', 'tools']);
  assert.equal(troubles.length, 4);
});
