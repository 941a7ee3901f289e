import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Catalog } from '../catalog/index.ts';
import { openObserver } from '../observe/index.ts';
import { newUuid } from '../schema/index.ts';
import { toSettings } from '../config/index.ts';
import { Database, openHome } from '../store/index.ts';
import { ToolViews } from './tool-views.ts';

test('a stored tool that nothing here can run is shown as disabled, with the reason, and its file stays as it is', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'oub-views-'));
  const home = await openHome(folder);
  const db = new Database(home.stateDb);
  const settings = toSettings({}, {}, folder);
  const observe = await openObserver({ home, db, config: { current: () => settings }, key: Buffer.alloc(32) });
  const onTrouble = (error: unknown): void => assert.fail(String(error));
  const catalog = await Catalog.open({ home, db, providers: [], onCorrupt() {}, onTrouble });
  t.after(async () => {
    await catalog.close();
    await observe.close();
    await db.close();
    await rm(folder, { recursive: true });
  });
  const bundle = newUuid();
  await catalog.writer.putBundle(bundle, { slug: 'kept', displayName: 'Kept', isEnabled: true });
  const summary = await catalog.writer.createTool(bundle, 'one', 'v1', {
    displayName: 'One',
    isEnabled: true,
    type: 'script',
    argSchema: { type: 'object' },
    scriptImpl: { code: '1 + 1' },
  });
  const seen = await new ToolViews(catalog, {}, observe).see(summary);
  assert.equal(seen?.view.isEnabled, false);
  assert.equal(seen?.view.disabledReason, 'tools of type script cannot run here');
  assert.equal((await catalog.whole(summary))?.isEnabled, true);
});
