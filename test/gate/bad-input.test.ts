import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';

describe('bad input', () => {
  let server: TestServer;
  let bundle: Awaited<ReturnType<typeof makeBundle>>;
  before(async () => {
    server = await testServer();
    bundle = await makeBundle(server, 'bad-input');
  });
  after(() => server.remove());

  it('names broken JSON, other media types and bodies that are too large', async () => {
    const broken = await server.ask('PUT', bundle.tool('t'), '{"a":');
    assert.deepEqual([broken.status, broken.body.error.code], [400, 'request.invalid']);
    const large = await server.ask('PUT', bundle.tool('t'), `{"x":"${'a'.repeat(5_000_000)}"}`);
    assert.deepEqual([large.status, large.body.error.code], [413, 'body.too_large']);
    const media = await fetch(`${server.url}${bundle.tool('t')}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'text/csv' },
      body: 'a,b',
    });
    assert.equal(media.status, 415);
  });

  it('refuses nesting, schema bombs and remote references without hanging', async () => {
    const deep = `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`;
    const bombs: unknown[] = [
      JSON.parse(deep),
      { type: 'object', properties: { a: { $ref: 'http://example.com/schema' } } },
      { $ref: '#/nowhere' },
      { type: 'object', properties: { a: { type: 'strin' } } },
    ];
    for (const argSchema of bombs) {
      const { status, body } = await server.ask('PUT', bundle.tool('bomb'), toolBody({ argSchema }));
      assert.equal(status, 400, JSON.stringify(body).slice(0, 200));
    }
    const args = await server.ask('POST', '/call/demo_foo', `{"args":${deep}}`);
    assert.equal(args.status, 400);
  });

  it('runs patterns that would take others hours', async () => {
    const argSchema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
    assert.equal((await server.ask('PUT', bundle.tool('redos'), toolBody({ argSchema }))).status, 201);
    const started = Date.now();
    const { status } = await server.ask('POST', `${bundle.tool('redos')}/invoke`, {
      args: { text: `${'a'.repeat(40)}!` },
    });
    assert.equal(status, 400);
    assert.ok(Date.now() - started < 2000);
  });

  it('answers what the router itself refuses in the same shape', async () => {
    for (const path of ['/tools/bundles/%E0%A4%A', `/call/${'a'.repeat(3000)}`]) {
      const { status, body } = await server.ask('GET', path);
      assert.deepEqual([status, body.error.code], [400, 'request.invalid'], path.slice(0, 40));
      assert.ok(body.error.requestId);
    }
  });

  it('refuses path tricks', async () => {
    for (const path of [
      `/tools/bundles/${bundle.id}/tools/..%2f..%2fadmin/version/v1`,
      `/tools/bundles/..%2f${bundle.id}/tools/t/version/v1`,
      `/tools/bundles/${bundle.id}/tools/t/version/%00`,
      `/tools/bundles/${bundle.id}/tools/%ff/version/v1`,
    ]) {
      const { status } = await server.ask('PUT', path, toolBody());
      assert.ok(status === 400 || status === 404, `${path}: ${status}`);
    }
  });
});
