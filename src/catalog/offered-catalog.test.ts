import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { until } from '../../test/kit/until.ts';
import { newUuid, type OfferedBundle } from '../schema/index.ts';
import { Database, openHome } from '../store/index.ts';
import { Catalog, type CatalogChange } from './catalog.ts';

const offered: OfferedBundle[] = [
  {
    slug: 'github',
    displayName: 'GitHub',
    kind: 'server',
    tools: [{ slug: 'search', description: 'Finds', argSchema: { type: 'object' }, level: 'read' }],
  },
];

describe('an upstream server and a stored bundle of the same name', () => {
  let folder: string;
  let db: Database;
  let catalog: Catalog;
  let isOffered: boolean;
  let offersChanged: () => void;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oub-offered-'));
    const home = await openHome(folder);
    db = new Database(home.stateDb);
    isOffered = false;
    catalog = await Catalog.open({
      home,
      db,
      providers: [
        {
          bundles: () => (isOffered ? offered : []),
          onChange: (listener) => {
            offersChanged = listener;
            return () => {};
          },
        },
      ],
      onCorrupt: () => {},
      onTrouble: (error) => assert.fail(error as Error),
    });
  });
  afterEach(async () => {
    await catalog.close();
    await db.close();
    await rm(folder, { recursive: true });
  });

  const kinds = (): string[] => catalog.bundles().map(({ slug, kind }) => `${slug} ${kind}`);
  const body = { slug: 'github', displayName: 'Mine', isEnabled: true };

  for (const [how, change] of [
    ['deleted', (id: string) => catalog.writer.deleteBundle(id)],
    ['renamed', (id: string) => catalog.writer.putBundle(id, { ...body, slug: 'mine' })],
  ] as const)
    test(`the server is back as soon as the bundle is ${how}`, async () => {
      const id = newUuid();
      await catalog.writer.putBundle(id, body);
      isOffered = true;
      offersChanged();
      assert.deepEqual(kinds(), ['github stored']);
      assert.deepEqual(catalog.clashes, ['github']);
      const told: CatalogChange[] = [];
      catalog.onChange((each) => told.push(each));
      await change(id);
      assert.ok(kinds().includes('github server'));
      assert.deepEqual(catalog.clashes, []);
      assert.equal(catalog.named('github_search').length, 1);
      assert.ok(told.some((each) => each.kind === 'tools' && each.put.some(({ name }) => name === 'github_search')));
    });

  test('a bundle that came by hand hides the server at once', async () => {
    isOffered = true;
    offersChanged();
    assert.deepEqual(kinds(), ['github server']);
    const id = newUuid();
    await catalog.writer.putBundle(id, { ...body, slug: 'other' });
    const path = join(folder, 'catalog', id, 'bundle.json');
    await writeFile(path, (await readFile(path, 'utf8')).replace('"other"', '"github"'));
    await until(() => kinds().includes('github stored'));
    assert.deepEqual(kinds(), ['github stored']);
    assert.deepEqual(catalog.clashes, ['github']);
  });
});
