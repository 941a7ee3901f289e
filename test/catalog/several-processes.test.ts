import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { v7 } from 'uuid';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

describe('one catalog that several processes serve', () => {
  let server: TestServer;
  let second: TestServer;
  before(async () => {
    server = await testServer();
    second = await testServer({ home: server.home });
  });
  after(async () => {
    await second.close();
    await server.remove();
  });

  it('is the same through each of them, switches and slugs included', async () => {
    const bundle = await makeBundle(server, 'shared');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const fromSecond = await second.ask('PUT', bundle.tool('t'), toolBody());
    assert.equal(fromSecond.body.error.code, 'tool.exists', 'a writer sees what another has written');
    await until(async () => (await second.ask('GET', bundle.tool('t'))).status === 200);
    await second.ask('PATCH', bundle.path, { isEnabled: false });
    await until(
      async () =>
        (await server.ask('POST', '/call/shared_t', { args: { text: 'x' } })).body.error?.code === 'bundle.disabled',
    );
    const demo = (await server.ask('GET', '/tools/bundles')).body.bundles.find((each: any) => each.slug === 'demo');
    await second.ask('PATCH', `/tools/bundles/${demo.id}`, { isEnabled: false });
    await until(
      async () =>
        (await server.ask('POST', '/call/demo_foo', { args: { text: 'x' } })).body.error?.code === 'bundle.disabled',
    );
    await second.ask('PATCH', `/tools/bundles/${demo.id}`, { isEnabled: true });
    const taken = await Promise.all(
      [server, second].map((each, i) =>
        each.ask('PUT', `/tools/bundles/${v7()}`, { slug: 'race', displayName: `${i}`, isEnabled: true }),
      ),
    );
    assert.deepEqual(taken.map((each) => each.status).toSorted(), [201, 409]);
  });

  it('lets what one process has stored be read, called and switched through another at once', async () => {
    const bundle = await makeBundle(server, 'atonce');
    for (const slug of ['a', 'b', 'c']) {
      // Busy with its own, it takes its time with those of others.
      await second.ask('PUT', bundle.tool(`own-${slug}`), toolBody());
      await server.ask('PUT', bundle.tool(`read-${slug}`), toolBody());
      assert.equal((await second.ask('GET', bundle.tool(`read-${slug}`))).status, 200);
      await server.ask('PUT', bundle.tool(`called${slug}`), toolBody());
      assert.equal((await second.ask('POST', `/call/atonce_called${slug}`, { args: { text: 'x' } })).status, 200);
      await server.ask('PUT', bundle.tool(`off-${slug}`), toolBody());
      assert.equal((await second.ask('PATCH', bundle.tool(`off-${slug}`), { isEnabled: false })).status, 200);
    }
  });

  it('lets exactly one of two processes take a tool, or a name, at the same moment', async () => {
    const [long, short] = [await makeBundle(server, 'clash-one'), await makeBundle(server, 'clash')];
    await until(
      async () => (await second.ask('GET', long.path)).status === (await second.ask('GET', short.path)).status,
    );
    for (let n = 0; n < 12; n++) {
      const same = await Promise.all(
        [server, second].map((each) => each.ask('PUT', short.tool(`same-${n}`), toolBody())),
      );
      assert.deepEqual(same.map(({ status }) => status).toSorted(), [201, 409]);
      const named = await Promise.all([
        server.ask('PUT', long.tool(`two-${n}`), toolBody()),
        second.ask('PUT', short.tool(`one-two-${n}`), toolBody()),
      ]);
      assert.deepEqual(named.map(({ status }) => status).toSorted(), [201, 409]);
      assert.equal(named.find(({ status }) => status === 409)?.body.error.code, 'name.taken');
    }
    const slugs = async (each: TestServer): Promise<string[]> =>
      (await each.ask('GET', `/tools/tools?bundleIDs=${long.id},${short.id}&recommendedPageSize=100`)).body.tools
        .map((tool: any) => tool.name)
        .toSorted();
    await until(async () => (await slugs(second)).length === 24 && (await slugs(server)).length === 24);
    assert.deepEqual(await slugs(server), await slugs(second));
  });

  it('adds no tool to a bundle that another process has switched off or deleted a moment ago', async () => {
    const [off, gone] = [await makeBundle(server, 'off-elsewhere'), await makeBundle(server, 'gone-elsewhere')];
    await second.ask('PATCH', off.path, { isEnabled: false });
    assert.equal((await server.ask('PUT', off.tool('t'), toolBody())).body.error?.code, 'bundle.disabled');
    await second.ask('DELETE', gone.path);
    assert.equal((await server.ask('PUT', gone.tool('t'), toolBody())).body.error?.code, 'bundle.not_found');
    await until(async () => (await readdir(join(server.home, 'catalog', '.drafts'))).length === 0);
  });
});
