import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { v4, v7 } from 'uuid';
import { bundleBody, makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';

describe('bundles over REST', () => {
  let server: TestServer;
  before(async () => (server = await testServer()));
  after(() => server.remove());

  const put = (id: string, body: unknown) => server.ask('PUT', `/tools/bundles/${id}`, body);
  const list = async (query = '') => (await server.ask('GET', `/tools/bundles?pageSize=256&${query}`)).body.bundles;

  it('answers 201 for a new bundle and 200 for one that is replaced, keeping createdAt', async () => {
    const id = v7();
    const made = await put(id, bundleBody('first', { description: 'one' }));
    assert.equal(made.status, 201);
    assert.equal(made.body.isBuiltIn, false);
    assert.match(made.body.createdAt, /^\d{4}-\d\d-\d\dT.*Z$/);
    const again = await put(id, bundleBody('first', { displayName: 'Other' }));
    assert.equal(again.status, 200);
    assert.equal(again.body.createdAt, made.body.createdAt);
    assert.equal(again.body.displayName, 'Other');
    assert.equal(again.body.description, undefined, 'a replaced bundle has just the fields that were sent');
    assert.ok(again.body.modifiedAt > made.body.modifiedAt);
  });

  it('refuses ids that are no UUIDv7', async () => {
    for (const id of ['abc', v4(), '019a0000-0000-7000-c000-000000000001', '019a0000-0000-7000-0000-000000000001'])
      assert.equal((await put(id, bundleBody('bad'))).body.error.code, 'request.invalid', id);
  });

  it('addresses the same bundle in any case and stores lower case', async () => {
    const id = v7();
    const made = await put(id.toUpperCase(), bundleBody('upper'));
    assert.equal(made.body.id, id);
    assert.equal((await server.ask('PATCH', `/tools/bundles/${id}`, { isEnabled: false })).status, 200);
  });

  it('refuses bad slugs, names and fields by name', async () => {
    const bad: [unknown, string][] = [
      [bundleBody('under_score'), '/slug'],
      [bundleBody('with space'), '/slug'],
      [bundleBody('a/b'), '/slug'],
      [bundleBody('..'), '/slug'],
      [bundleBody(''), '/slug'],
      [bundleBody('a'.repeat(65)), '/slug'],
      [bundleBody('e\u0301'), '/slug'],
      [bundleBody('roman-\u2163'), '/slug'],
      [bundleBody('half-\u00bd'), '/slug'],
      [bundleBody('nul\0'), '/slug'],
      [bundleBody('half\ud800'), '/slug'],
      [bundleBody('ok', { displayName: '  ' }), '/displayName'],
      [bundleBody('ok', { displayName: 'a\0b' }), '/displayName'],
      [bundleBody('ok', { description: 'x\udc00' }), '/description'],
      [bundleBody('ok', { isEnabled: 'yes' }), '/isEnabled'],
      [bundleBody('ok', { color: 'red' }), '/color'],
      [bundleBody('ok', { id: v7() }), '/id'],
      [bundleBody('ok', { isBuiltIn: true }), '/isBuiltIn'],
      [{ slug: 'ok', displayName: 'x' }, '/isEnabled'],
      [[], ''],
      ['"text"', ''],
    ];
    for (const [body, path] of bad) {
      const { status, body: answer } = await put(v7(), body);
      assert.equal(status, 400, JSON.stringify(body));
      assert.equal(answer.error.code, 'request.invalid');
      assert.equal(answer.error.details[0].path, path, JSON.stringify(answer));
    }
  });

  it('takes 64 letters of any script as a slug, astral ones too', async () => {
    for (const slug of ['字'.repeat(64), '𝒜'.repeat(64), 'Ünïcode-٣'])
      assert.equal((await put(v7(), bundleBody(slug))).status, 201, slug);
  });

  it('keeps slugs apart by case and refuses a taken one', async () => {
    assert.equal((await put(v7(), bundleBody('Case'))).status, 201);
    assert.equal((await put(v7(), bundleBody('case'))).status, 201);
    assert.equal((await put(v7(), bundleBody('case'))).body.error.code, 'bundle.exists');
    assert.equal((await put(v7(), bundleBody('demo'))).body.error.code, 'bundle.exists', 'a built-in slug is taken');
  });

  it('switches by PATCH, which leaves modifiedAt alone and takes nothing else', async () => {
    const { path } = await makeBundle(server, 'patched');
    const [before] = (await list()).filter((each: any) => each.slug === 'patched');
    const off = await server.ask('PATCH', path, { isEnabled: false });
    assert.equal(off.body.isEnabled, false);
    assert.equal(off.body.modifiedAt, before.modifiedAt);
    assert.equal((await server.ask('PATCH', path, { isEnabled: true, slug: 'x' })).status, 400);
    assert.equal((await server.ask('PATCH', path, {})).status, 400);
    assert.equal(
      (await server.ask('PATCH', `/tools/bundles/${v7()}`, { isEnabled: true })).body.error.code,
      'bundle.not_found',
    );
  });

  it('soft-deletes an empty bundle, which then reads as gone and frees its slug', async () => {
    const { id, path } = await makeBundle(server, 'gone');
    assert.equal((await server.ask('DELETE', path)).status, 204);
    assert.equal((await server.ask('DELETE', path)).status, 404);
    assert.equal((await server.ask('PATCH', path, { isEnabled: true })).status, 404);
    assert.ok(!(await list('includeDisabled=true')).some((each: any) => each.id === id));
    assert.equal(
      (await server.ask('PUT', `${path}/tools/x/version/v1`, toolBody())).body.error.code,
      'bundle.not_found',
    );
    const heir = v7();
    assert.equal((await put(heir, bundleBody('gone'))).status, 201, 'its slug is free');
    assert.equal((await put(id, bundleBody('gone'))).body.error.code, 'bundle.exists');
    assert.equal((await server.ask('DELETE', `/tools/bundles/${heir}`)).status, 204);
    const revived = await put(id, bundleBody('gone'));
    assert.equal(revived.status, 200);
    assert.equal(revived.body.softDeletedAt, undefined);
  });

  it('keeps a bundle that holds tools', async () => {
    const bundle = await makeBundle(server, 'full');
    assert.equal((await server.ask('PUT', bundle.tool('a'), toolBody())).status, 201);
    assert.equal((await server.ask('DELETE', bundle.path)).body.error.code, 'bundle.not_empty');
    assert.equal((await server.ask('DELETE', bundle.tool('a'))).status, 204);
    assert.equal((await server.ask('DELETE', bundle.path)).status, 204);
  });

  it('lists last changed first, hides disabled ones unless asked, filters by id', async () => {
    const a = await makeBundle(server, 'list-a');
    const b = await makeBundle(server, 'list-b', { isEnabled: false });
    const c = await makeBundle(server, 'list-c');
    const ids = (bundles: any[]) => bundles.map((each) => each.id).filter((id) => [a.id, b.id, c.id].includes(id));
    assert.deepEqual(ids(await list()), [c.id, a.id]);
    assert.deepEqual(ids(await list('includeDisabled=true')), [c.id, b.id, a.id]);
    assert.deepEqual(ids(await list(`bundleIDs=${a.id},${b.id}&includeDisabled=true`)), [b.id, a.id]);
    assert.deepEqual(ids(await list(`bundleIDs=${a.id}&bundleIDs=${c.id}`)), [c.id, a.id]);
    await put(a.id, bundleBody('list-a'));
    assert.deepEqual(ids(await list()), [a.id, c.id]);
    // All built-in ones are of one moment.
    const together = (await list('includeDisabled=true'))
      .filter((each: any) => each.isBuiltIn)
      .map((each: any) => each.id);
    assert.deepEqual(together, together.toSorted());
  });

  it('lets built-in bundles be switched and nothing else', async () => {
    const builtIn = (await list('includeDisabled=true')).find((each: any) => each.slug === 'demo');
    const path = `/tools/bundles/${builtIn.id}`;
    assert.equal(builtIn.isBuiltIn, true);
    assert.equal((await server.ask('PUT', path, bundleBody('demo'))).body.error.code, 'builtin.read_only');
    assert.equal((await server.ask('PUT', path, { nonsense: 1 })).body.error.code, 'builtin.read_only');
    assert.equal((await server.ask('DELETE', path)).body.error.code, 'builtin.read_only');
    assert.equal((await server.ask('PATCH', path, { displayName: 'x' })).body.error.code, 'builtin.read_only');
    assert.equal(
      (await server.ask('PUT', `${path}/tools/new/version/v1`, toolBody())).body.error.code,
      'builtin.read_only',
    );
    assert.equal((await server.ask('DELETE', `${path}/tools/foo/version/v1`)).body.error.code, 'builtin.read_only');
    assert.equal((await server.ask('PATCH', path, { isEnabled: false })).body.isEnabled, false);
    const refused = await server.ask('POST', '/call/demo_foo', { args: { text: 'x' } });
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'bundle.disabled']);
    assert.equal(
      (await server.ask('PATCH', `${path}/tools/foo/version/v1`, { isEnabled: true })).body.error.code,
      'bundle.disabled',
    );
    assert.equal((await server.ask('PATCH', path, { isEnabled: true })).status, 200);
    assert.equal((await server.call('demo_foo', { text: 'x' })).ok, true);
  });
});
