import assert from 'node:assert/strict';
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';

describe('records that are kept between two starts', () => {
  let server: TestServer;
  let bundle: Awaited<ReturnType<typeof makeBundle>>;
  before(async () => {
    server = await testServer();
    bundle = await makeBundle(server, 'kept');
    for (const slug of ['one', 'two', 'three']) await server.ask('PUT', bundle.tool(slug), toolBody({ tags: [slug] }));
  });
  after(() => server.remove());

  const records = (): string => join(server.home, 'run', 'catalog-records');
  const fileOf = async (slug: string): Promise<string> => {
    const folder = join(server.home, 'catalog', bundle.id);
    return join(folder, (await readdir(folder)).find((each) => each.startsWith(`tool-${slug}.`)) ?? 'none');
  };
  const list = async (): Promise<any[]> =>
    (await server.ask('GET', `/tools/tools?bundleIDs=${bundle.id}&includeDisabled=true&pageSize=50`)).body.tools;
  const start = async (): Promise<void> => void (server = await testServer({ home: server.home }));

  it('give the same list, found by name and by id, without the copies of the files', async () => {
    const before = await list();
    assert.equal(before.length, 3);
    await server.close();
    assert.ok((await readFile(records())).length > 0);
    for (const suffix of ['', '-wal', '-shm'])
      await rm(join(server.home, 'run', `catalog-cache.db${suffix}`), { force: true });
    await start();
    assert.deepEqual(await list(), before);
    assert.equal((await server.ask('POST', '/call/kept_two', { args: { text: 'x' } })).status, 200);
    assert.equal((await server.ask('PUT', bundle.tool('two'), toolBody())).status, 409);
  });

  it('never hide a change that was answered before the process was killed', async () => {
    await server.close();
    await copyFile(records(), `${records()}.old`);
    await start();
    await server.ask('PATCH', bundle.tool('one'), { isEnabled: false });
    await server.ask('PUT', bundle.tool('four'), toolBody());
    await server.ask('DELETE', bundle.tool('three'));
    await server.close();
    // As a process leaves them that had no time to write anew.
    await copyFile(`${records()}.old`, records());
    await start();
    const found = Object.fromEntries((await list()).map((tool) => [tool.slug, tool.isEnabled]));
    assert.deepEqual(found, { one: false, two: true, four: true });
  });

  it('do not count when nobody knows any more what was announced since', async () => {
    await server.close();
    await copyFile(records(), `${records()}.old`);
    await start();
    await server.ask('PATCH', bundle.tool('two'), { isEnabled: false });
    await server.close();
    await copyFile(`${records()}.old`, records());
    const db = new DatabaseSync(join(server.home, 'run', 'catalog-changes.db'));
    db.exec('DELETE FROM catalog_changes');
    db.close();
    await start();
    assert.equal((await server.ask('GET', bundle.tool('two'))).body.isEnabled, false);
  });

  it('are not needed, nor is the file where changes are told: a damaged one begins anew', async () => {
    await server.close();
    await writeFile(join(server.home, 'run', 'catalog-changes.db'), 'no database at all');
    await start();
    await server.ask('PATCH', bundle.tool('two'), { isEnabled: true });
    await server.close();
    await start();
    assert.equal((await server.ask('POST', '/call/kept_two', { args: { text: 'x' } })).status, 200);
  });

  it('are compared with the folders: what came or went by hand meanwhile is seen at once', async () => {
    const text = await readFile(await fileOf('four'), 'utf8');
    await server.close();
    const path = await fileOf('four');
    await rm(path);
    await start();
    assert.equal((await server.ask('GET', bundle.tool('four'))).status, 404);
    await server.close();
    await writeFile(path, text);
    await start();
    assert.equal((await server.ask('GET', bundle.tool('four'))).status, 200);
  });

  it('are left aside when they are damaged or cut off', async () => {
    const before = await list();
    for (const damage of [
      (data: Buffer) => data.fill(7, 60, 90),
      (data: Buffer) => data.subarray(0, 100),
      () => Buffer.alloc(0),
    ]) {
      await server.close();
      await writeFile(records(), damage(await readFile(records())));
      await start();
      assert.deepEqual(await list(), before);
    }
  });
});
