import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { v7 } from 'uuid';
import fc from '../kit/fast-check.ts';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';

describe('pages of tools', () => {
  let server: TestServer;
  let one: Awaited<ReturnType<typeof makeBundle>>;
  let two: Awaited<ReturnType<typeof makeBundle>>;
  before(async () => {
    server = await testServer();
    one = await makeBundle(server, 'one');
    two = await makeBundle(server, 'two');
    for (let i = 0; i < 7; i++)
      await server.ask('PUT', one.tool(`t${i}`), toolBody({ tags: i % 2 ? ['odd', 'all'] : ['even', 'all'] }));
    await server.ask('PUT', one.tool('t3', 'v2'), toolBody({ isEnabled: false, tags: ['all'] }));
    await server.ask('PUT', two.tool('x'), toolBody({ tags: ['odd'] }));
  });
  after(() => server.remove());

  const names = (body: any): string[] => body.tools.map((each: any) => `${each.name}@${each.version}`);
  const get = async (query: string) => server.ask('GET', `/tools/tools?${query}`);

  const walk = async (path: string, key: string): Promise<any[]> => {
    const all: any[] = [];
    for (let token = ''; ;) {
      const { status, body } = await server.ask('GET', path + (token && `&pageToken=${encodeURIComponent(token)}`));
      assert.equal(status, 200);
      all.push(...body[key]);
      if (!body.nextPageToken) return all;
      token = body.nextPageToken;
    }
  };

  it('orders by name, then newest first, with whole tools and the bundle slug', async () => {
    const { body } = await get(`bundleIDs=${one.id}&includeDisabled=true`);
    assert.deepEqual(names(body), [
      'one_t0@v1',
      'one_t1@v1',
      'one_t2@v1',
      'one_t3@v2',
      'one_t3@v1',
      'one_t4@v1',
      'one_t5@v1',
      'one_t6@v1',
    ]);
    assert.deepEqual([body.tools[0].bundleSlug, body.tools[0].functionImpl], ['one', { func: 'demo.foo' }]);
  });

  it('lists each tool once that stays while others come and go around it', async () => {
    const crowd = await makeBundle(server, 'crowd');
    const stays = Array.from({ length: 150 }, (_, n) => `s${n}`);
    await Promise.all(stays.map((slug) => server.ask('PUT', crowd.tool(slug), toolBody())));
    let isOver = false;
    const churn = (async () => {
      for (let n = 0; !isOver; n++) {
        await server.ask('PUT', crowd.tool(`a${n}`), toolBody());
        await server.ask('DELETE', crowd.tool(`a${n}`));
      }
    })();
    for (let round = 0; round < 10; round++) {
      const { body } = await get(`bundleIDs=${crowd.id}&recommendedPageSize=256`);
      const found = body.tools.map((each: any) => each.slug).filter((slug: string) => slug.startsWith('s'));
      assert.deepEqual(found.toSorted(), stays.toSorted());
    }
    isOver = true;
    await churn;
    for (const slug of stays) await server.ask('DELETE', crowd.tool(slug));
  });

  it('leaves disabled tools and tools of disabled bundles out unless asked', async () => {
    assert.ok(!names((await get(`bundleIDs=${one.id}`)).body).includes('one_t3@v2'));
    await server.ask('PATCH', two.path, { isEnabled: false });
    assert.deepEqual(names((await get(`bundleIDs=${two.id}`)).body), []);
    assert.deepEqual(names((await get(`bundleIDs=${two.id}&includeDisabled=true`)).body), ['two_x@v1']);
    await server.ask('PATCH', two.path, { isEnabled: true });
  });

  it('filters by any of the tags and any of the bundles, both together', async () => {
    assert.deepEqual(names((await get('tags=odd')).body), ['one_t1@v1', 'one_t3@v1', 'one_t5@v1', 'two_x@v1']);
    assert.deepEqual(names((await get(`tags=odd&bundleIDs=${two.id}`)).body), ['two_x@v1']);
    assert.equal(names((await get(`tags=odd,even&bundleIDs=${one.id}`)).body).length, 7);
    assert.equal(names((await get(`tags=odd&tags=even&bundleIDs=${one.id.toUpperCase()},${two.id}`)).body).length, 8);
    assert.deepEqual(names((await get('tags=none')).body), []);
  });

  it('walks every page size to the same list, without gap or double', async () => {
    const whole = (await walk('/tools/tools?recommendedPageSize=256&includeDisabled=true', 'tools')).map((t) => t.id);
    assert.equal(new Set(whole).size, whole.length);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), async (size) => {
        const walked = await walk(`/tools/tools?recommendedPageSize=${size}&includeDisabled=true`, 'tools');
        assert.deepEqual(
          walked.map((t) => t.id),
          whole,
        );
      }),
      { numRuns: 6 },
    );
    const bundles = await walk('/tools/bundles?pageSize=1&includeDisabled=true', 'bundles');
    assert.equal(new Set(bundles.map((b) => b.id)).size, bundles.length);
    assert.ok(bundles.length >= 4);
  });

  it('keeps the filters of the first page whatever later pages say', async () => {
    const first = (await get('tags=all&recommendedPageSize=3')).body;
    const next = (await get(`tags=none&includeDisabled=true&recommendedPageSize=10&pageToken=${first.nextPageToken}`))
      .body;
    assert.deepEqual(names(next), ['one_t3@v1', 'one_t4@v1', 'one_t5@v1', 'one_t6@v1']);
    const both = (
      await server.ask('GET', `/tools/bundles?bundleIDs=${one.id},${two.id}&includeDisabled=true&pageSize=1`)
    ).body;
    const other = await server.ask('GET', `/tools/bundles?bundleIDs=${v7()}&pageToken=${both.nextPageToken}`);
    assert.deepEqual(
      [...both.bundles, ...other.body.bundles].map(({ id }: any) => id).toSorted(),
      [one.id, two.id].toSorted(),
    );
    const found = (await server.ask('GET', '/tools/tools/search?q=t3&includeDisabled=true&pageSize=1')).body;
    const rest = (await server.ask('GET', `/tools/tools/search?q=x&pageToken=${found.nextPageToken}`)).body;
    assert.deepEqual(names({ tools: [...found.tools, ...rest.tools] }), ['one_t3@v2', 'one_t3@v1']);
  });

  it('has no token for a page behind the last', async () => {
    for (const path of [
      `/tools/tools?tags=all&bundleIDs=${one.id}&recommendedPageSize=`,
      `/tools/bundles?bundleIDs=${one.id},${two.id}&includeDisabled=true&pageSize=`,
      '/tools/tools/search?q=t3&includeDisabled=true&pageSize=',
    ]) {
      const { tools, bundles } = (await server.ask('GET', `${path}100`)).body;
      const { length } = tools ?? bundles;
      assert.ok(length > 1, path);
      assert.equal((await server.ask('GET', path + length)).body.nextPageToken, undefined, path);
      assert.notEqual((await server.ask('GET', path + (length - 1))).body.nextPageToken, undefined, path);
    }
  });

  it('refuses page tokens that it did not make', async () => {
    const { nextPageToken } = (await get('recommendedPageSize=1')).body;
    const other = (await server.ask('GET', '/tools/bundles?pageSize=1')).body.nextPageToken;
    const [payload, signature] = nextPageToken.split('.');
    const bad = [
      'x',
      '',
      '.',
      other,
      `${payload}x.${signature}`,
      `${payload}.${signature}A`,
      `${payload}.${signature}=`,
      `${payload}.`,
      `${nextPageToken}.x`,
      'a'.repeat(5000),
    ];
    for (const token of bad.filter((each) => each !== '')) {
      const { status, body } = await get(`pageToken=${encodeURIComponent(token)}`);
      assert.deepEqual([status, body.error?.code], [400, 'page_token.invalid'], token.slice(0, 40));
    }
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: nextPageToken.length - 1 }),
        fc.constantFrom('A', 'z', '0', '-'),
        async (at, letter) => {
          const changed = nextPageToken.slice(0, at) + letter + nextPageToken.slice(at + 1);
          if (changed === nextPageToken) return;
          assert.equal((await get(`pageToken=${encodeURIComponent(changed)}`)).status, 400);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('clamps large page sizes and refuses those below one', async () => {
    const large = await makeBundle(server, 'large');
    await Promise.all(Array.from({ length: 257 }, (_, i) => server.ask('PUT', large.tool(`l${i}`), toolBody())));
    for (const size of [256, 257, 100_000]) {
      const { body } = await get(`bundleIDs=${large.id}&recommendedPageSize=${size}`);
      assert.deepEqual([body.tools.length, typeof body.nextPageToken], [256, 'string'], String(size));
    }
    for (const size of ['0', '-1', 'x', '1.5', '', ' '])
      assert.equal((await get(`recommendedPageSize=${encodeURIComponent(size)}`)).status, 400, size);
    assert.equal((await server.ask('GET', '/tools/bundles?pageSize=0')).status, 400);
    assert.equal((await server.ask('GET', `/tools/bundles?pageSize=${'9'.repeat(30)}`)).status, 200);
    const { nextPageToken } = (await server.ask('GET', '/tools/bundles?pageSize=2')).body;
    const rest = (await server.ask('GET', `/tools/bundles?pageToken=${nextPageToken}`)).body;
    assert.equal(rest.bundles.length, 2);
    assert.equal(
      (await server.ask('GET', `/tools/bundles?pageToken=${nextPageToken}&pageSize=1`)).body.bundles.length,
      1,
    );
    assert.equal((await get('includeDisabled=maybe')).status, 400);
  });

  it('answers 25 by default', async () => {
    const bundle = await makeBundle(server, 'many');
    await Promise.all(Array.from({ length: 30 }, (_, i) => server.ask('PUT', bundle.tool(`m${i}`), toolBody())));
    assert.equal((await get(`bundleIDs=${bundle.id}`)).body.tools.length, 25);
  });
});
