import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { v7 } from 'uuid';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';

describe('tools over REST', () => {
  let server: TestServer;
  before(async () => (server = await testServer()));
  after(() => server.remove());

  it('stores a version, adds what the server knows, and answers it again', async () => {
    const bundle = await makeBundle(server, 'my-tools');
    const made = await server.ask('PUT', bundle.tool('say-colour', '1.0'), toolBody({ tags: ['a', 'B_2'] }));
    assert.equal(made.status, 201);
    const { id, slug, version, bundleID, name, isBuiltIn, usage, schemaVersion, createdAt, modifiedAt } = made.body;
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    assert.deepEqual([slug, version, bundleID, name], ['say-colour', '1.0', bundle.id, 'my_tools_say_colour']);
    assert.deepEqual([isBuiltIn, usage.callCount, schemaVersion], [false, 0, 1]);
    assert.equal(createdAt, modifiedAt);
    assert.deepEqual((await server.ask('GET', bundle.tool('say-colour', '1.0'))).body, made.body);
  });

  it('refuses the same slug and version, and leaves the stored bytes as they are', async () => {
    const bundle = await makeBundle(server, 'conflicts');
    await server.ask('PUT', bundle.tool('one'), toolBody());
    const folder = join(server.home, 'catalog', bundle.id);
    const read = async () =>
      Promise.all((await readdir(folder)).toSorted().map((name) => readFile(join(folder, name), 'utf8')));
    const before = await read();
    const again = await server.ask('PUT', bundle.tool('one'), toolBody({ displayName: 'Other' }));
    assert.deepEqual([again.status, again.body.error.code], [409, 'tool.exists']);
    assert.deepEqual(await read(), before);
    assert.equal(
      (await server.ask('PUT', bundle.tool('one', 'v2'), toolBody())).status,
      201,
      'another version is free',
    );
    const other = await makeBundle(server, 'conflicts2');
    assert.equal((await server.ask('PUT', other.tool('one'), toolBody())).status, 201, 'so is another bundle');
  });

  it('keeps slug and version apart by case', async () => {
    const bundle = await makeBundle(server, 'cases');
    assert.equal((await server.ask('PUT', bundle.tool('Tool'), toolBody())).status, 201);
    assert.equal((await server.ask('PUT', bundle.tool('tool'), toolBody())).status, 201);
    assert.equal((await server.ask('PUT', bundle.tool('tool', 'V1'), toolBody())).status, 201);
    assert.equal((await server.ask('GET', bundle.tool('tOOl'))).status, 404);
  });

  it('takes dots in versions, but not only dots, and never a path', async () => {
    const bundle = await makeBundle(server, 'versions');
    for (const version of ['1.2.3', 'v-1.', '版本', 'x'.repeat(64)])
      assert.equal((await server.ask('PUT', bundle.tool('t', version), toolBody())).status, 201, version);
    for (const version of ['...', '_1', 'a b', 'a/b', 'x'.repeat(65), 'a\\b', '%2e%2e/x']) {
      const { status, body } = await server.ask('PUT', bundle.tool('t', version), toolBody());
      assert.deepEqual([status, body.error.details[0]?.path], [400, '/version'], version);
    }
    for (const slug of ['a.b', 'a_b', 'a b', 'a/../b', 'e\u0301', '𝒜'.repeat(65)]) {
      const { status, body } = await server.ask('PUT', bundle.tool(slug), toolBody());
      assert.deepEqual([status, body.error.details[0]?.path], [400, '/slug'], slug);
    }
  });

  it('stores names of 64 letters of any script', async () => {
    const bundle = await makeBundle(server, '장'.repeat(64));
    const made = await server.ask('PUT', bundle.tool('𝒜'.repeat(64), '版'.repeat(64)), toolBody());
    assert.equal(made.status, 201);
    assert.match(made.body.name, /^[\x20-\x7e]{1,60}$/);
    assert.match(made.body.name, /_[0-9a-f]{8}$/);
    assert.equal((await server.ask('POST', `/call/${made.body.name}`, { args: { text: 'x' } })).body.ok, true);
  });

  it('refuses bad bodies and says which field', async () => {
    const bundle = await makeBundle(server, 'bodies');
    const bad: [unknown, string, string][] = [
      [toolBody({ displayName: '' }), 'request.invalid', '/displayName'],
      [toolBody({ color: 1 }), 'request.invalid', '/color'],
      [toolBody({ createdAt: 'x' }), 'request.invalid', '/createdAt'],
      [toolBody({ tags: ['1x'] }), 'request.invalid', '/tags/0'],
      [toolBody({ tags: ['a', 'a'] }), 'request.invalid', '/tags/1'],
      [toolBody({ tags: Array.from({ length: 33 }, (_, i) => `t${i}`) }), 'request.invalid', '/tags'],
      [toolBody({ tags: ['a'.repeat(65)] }), 'request.invalid', '/tags/0'],
      [toolBody({ type: 'lambda' }), 'type.unsupported', '/type'],
      [toolBody({ functionImpl: undefined }), 'request.invalid', '/functionImpl'],
      [toolBody({ scriptImpl: { code: '1' } }), 'request.invalid', '/scriptImpl'],
      [toolBody({ limits: { maxCallsPerMinute: 0 } }), 'request.invalid', '/limits/maxCallsPerMinute'],
      [toolBody({ limits: { other: 1 } }), 'request.invalid', '/limits/other'],
      [toolBody({ argSchema: { type: 'nonsense' } }), 'request.invalid', '/argSchema/type'],
      [toolBody({ argSchema: 7 }), 'request.invalid', '/argSchema'],
      [toolBody({ argSchema: 'object' }), 'request.invalid', '/argSchema'],
      [toolBody({ argSchema: true }), 'request.invalid', '/argSchema'],
      [toolBody({ argSchema: { type: 'string' } }), 'request.invalid', '/argSchema/type'],
      [toolBody({ argSchema: { type: ['array', 'null'] } }), 'request.invalid', '/argSchema/type'],
      [toolBody({ access: 'root' }), 'request.invalid', '/access'],
      [toolBody({ description: 'lone \ud800' }), 'request.invalid', '/description'],
    ];
    for (const [body, code, path] of bad) {
      const { status, body: answer } = await server.ask('PUT', bundle.tool('t'), body);
      assert.deepEqual([status, answer.error.code], [400, code], JSON.stringify(answer));
      assert.ok(answer.error.details[0]?.path.startsWith(path), JSON.stringify(answer));
    }
    const tags = [...Array.from({ length: 31 }, (_, i) => `t${i}`), 'a'.repeat(64)];
    assert.equal((await server.ask('PUT', bundle.tool('most'), toolBody({ tags }))).status, 201);
    for (const func of ['no.such', 'token.create', '__proto__', ''])
      assert.equal((await server.ask('PUT', bundle.tool('t'), toolBody({ functionImpl: { func } }))).status, 400);
    assert.equal(
      (await server.ask('PUT', bundle.tool('t'), toolBody({ functionImpl: { func: 'token.create' } }))).body.error.code,
      'function.unknown',
      'what is not public cannot be borrowed',
    );
    assert.equal((await server.ask('GET', bundle.tool('t'))).status, 404, 'nothing was stored');
  });

  it('takes "go" for "function" and echoes it', async () => {
    const bundle = await makeBundle(server, 'gopher');
    const { functionImpl: _, ...rest } = toolBody();
    const made = await server.ask('PUT', bundle.tool('t'), { ...rest, type: 'go', goImpl: { func: 'demo.foo' } });
    assert.equal(made.status, 201);
    assert.deepEqual([made.body.type, made.body.goImpl], ['go', { func: 'demo.foo' }]);
    assert.equal((await server.call('gopher_t', { text: 'x' })).ok, true);
  });

  it('switches by PATCH alone and keeps modifiedAt', async () => {
    const bundle = await makeBundle(server, 'switch');
    const made = await server.ask('PUT', bundle.tool('t'), toolBody());
    const off = await server.ask('PATCH', bundle.tool('t'), { isEnabled: false });
    assert.deepEqual([off.body.isEnabled, off.body.modifiedAt], [false, made.body.modifiedAt]);
    assert.equal((await server.ask('GET', bundle.tool('t'))).status, 200, 'a disabled tool can be read');
    assert.equal((await server.ask('PATCH', bundle.tool('t'), { isEnabled: 1 })).status, 400);
    assert.equal((await server.ask('PATCH', bundle.tool('t'), { isEnabled: true, tags: [] })).status, 400);
    assert.equal((await server.ask('PATCH', bundle.tool('u'), { isEnabled: true })).status, 404);
    const refused = await server.ask('POST', `${bundle.tool('t')}/invoke`, { args: { text: 'x' } });
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'tool.disabled']);
  });

  it('deletes for good', async () => {
    const bundle = await makeBundle(server, 'delete');
    const first = await server.ask('PUT', bundle.tool('t'), toolBody());
    assert.equal((await server.ask('DELETE', bundle.tool('t'))).status, 204);
    assert.equal((await server.ask('DELETE', bundle.tool('t'))).status, 404);
    assert.equal((await server.ask('GET', bundle.tool('t'))).status, 404);
    const second = await server.ask('PUT', bundle.tool('t'), toolBody());
    assert.equal(second.status, 201);
    assert.notEqual(second.body.id, first.body.id);
  });

  it('refuses to add or switch tools of a disabled bundle, before it says that one exists', async () => {
    const bundle = await makeBundle(server, 'off');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    await server.ask('PATCH', bundle.path, { isEnabled: false });
    assert.equal((await server.ask('PUT', bundle.tool('t'), toolBody())).body.error.code, 'bundle.disabled');
    assert.equal((await server.ask('PUT', bundle.tool('u'), toolBody())).body.error.code, 'bundle.disabled');
    const wrong = toolBody({ functionImpl: { func: 'no.such' } });
    assert.equal((await server.ask('PUT', bundle.tool('u'), wrong)).body.error.code, 'function.unknown');
    assert.equal(
      (await server.ask('PATCH', bundle.tool('t'), { isEnabled: false })).body.error.code,
      'bundle.disabled',
    );
    assert.equal(
      (await server.ask('POST', `${bundle.tool('t')}/invoke`, { args: { text: 'x' } })).body.error.code,
      'bundle.disabled',
    );
    assert.equal((await server.ask('GET', bundle.tool('t'))).status, 200);
    assert.equal((await server.ask('DELETE', bundle.tool('t'))).status, 204);
    const { bundles } = (await server.ask('GET', '/tools/bundles?pageSize=256')).body;
    const clock = `/tools/bundles/${bundles.find((each: { slug: string }) => each.slug === 'clock').id}`;
    await server.ask('PATCH', clock, { isEnabled: false });
    const builtIn = await server.ask('PATCH', `${clock}/tools/now/version/v1`, { isEnabled: false });
    assert.equal(builtIn.body.error.code, 'bundle.disabled', 'built-in ones too');
    await server.ask('PATCH', clock, { isEnabled: true });
  });

  it('makes names once and keeps them unique', async () => {
    const ab = await makeBundle(server, 'ab');
    const a = await makeBundle(server, 'a');
    assert.equal((await server.ask('PUT', a.tool('b-c'), toolBody())).body.name, 'a_b_c');
    const abDash = await makeBundle(server, 'a-b');
    const taken = await server.ask('PUT', abDash.tool('c'), toolBody());
    assert.deepEqual([taken.status, taken.body.error.code], [409, 'name.taken']);
    assert.equal((await server.ask('PUT', ab.tool('x'), toolBody())).body.name, 'ab_x');
    await server.ask('PUT', `/tools/bundles/${ab.id}`, { slug: 'renamed', displayName: 'R', isEnabled: true });
    assert.equal((await server.ask('GET', ab.tool('x'))).body.name, 'ab_x', 'a changed slug keeps names');
    assert.equal((await server.ask('PUT', ab.tool('x', 'v2'), toolBody())).body.name, 'ab_x', 'versions share one');
    assert.equal((await server.ask('PUT', ab.tool('y'), toolBody())).body.name, 'renamed_y');
    const caller = await makeBundle(server, 'caller-tool');
    const builtIn = await server.ask('PUT', caller.tool('response'), toolBody());
    assert.deepEqual(
      [builtIn.status, builtIn.body.error.code],
      [409, 'name.taken'],
      "the server's own tools count too",
    );
  });

  it('calls the newest enabled version by name', async () => {
    const bundle = await makeBundle(server, 'newest');
    const schema = { type: 'object', properties: { text: { type: 'string' } } };
    await server.ask(
      'PUT',
      bundle.tool('t', 'z-first'),
      toolBody({ functionImpl: { func: 'demo.foo' }, argSchema: schema }),
    );
    await server.ask(
      'PUT',
      bundle.tool('t', 'a-second'),
      toolBody({ functionImpl: { func: 'demo.bar' }, argSchema: schema }),
    );
    const animal = (await server.call('demo_bar', { text: 'x' })).value;
    const colour = (await server.call('demo_foo', { text: 'x' })).value;
    assert.notDeepEqual(animal, colour);
    assert.deepEqual((await server.call('newest_t', { text: 'x' })).value, animal);
    await server.ask('PATCH', bundle.tool('t', 'a-second'), { isEnabled: false });
    assert.deepEqual((await server.call('newest_t', { text: 'x' })).value, colour);
  });

  it('answers 404 for what is not there and 405 for what cannot be done', async () => {
    const bundle = await makeBundle(server, 'verbs');
    assert.equal(
      (await server.ask('PUT', `/tools/bundles/${v7()}/tools/t/version/v1`, toolBody())).body.error.code,
      'bundle.not_found',
    );
    assert.equal((await server.ask('GET', bundle.tool('t'))).body.error.code, 'tool.not_found');
    assert.equal((await server.ask('POST', bundle.tool('t'), {})).body.error.code, 'method.not_allowed');
    assert.equal((await server.ask('GET', '/tools/nothing')).body.error.code, 'route.not_found');
    assert.equal((await server.ask('POST', '/call/no_such', { args: {} })).body.error.code, 'tool.not_found');
  });
});
