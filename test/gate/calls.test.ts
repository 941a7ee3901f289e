import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';

describe('a call through the gate', () => {
  let server: TestServer;
  let bundle: Awaited<ReturnType<typeof makeBundle>>;
  before(async () => {
    server = await testServer();
    bundle = await makeBundle(server, 'calls');
  });
  after(() => server.remove());

  const invoke = (slug: string, body: unknown) => server.ask('POST', `${bundle.tool(slug)}/invoke`, body);

  it('answers ok and value, by version and by name', async () => {
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const byVersion = await invoke('t', { args: { text: 'hello' } });
    assert.deepEqual([byVersion.status, byVersion.body.ok], [200, true]);
    assert.equal(typeof byVersion.body.value, 'string');
    assert.deepEqual((await server.call('calls_t', { text: 'hello' })).value, byVersion.body.value);
    const inCapitals = `${bundle.tool('t').replace(bundle.id, bundle.id.toUpperCase())}/invoke`;
    assert.deepEqual((await server.ask('POST', inCapitals, { args: { text: 'hello' } })).body, byVersion.body);
  });

  it('names the tool that is not there', async () => {
    const message = async (path: string): Promise<string> =>
      (await server.ask('POST', path, { args: {} })).body.error.message;
    assert.equal(await message('/call/calls_never'), 'There is no tool calls_never.');
    assert.equal(await message(`${bundle.tool('never')}/invoke`), 'There is no tool never version v1.');
  });

  it('takes secrets out of what it refuses with', async () => {
    const value = 'known-to-nobody-else';
    await server.call('secret_set', { name: 'REFUSED', value });
    for (const [name, args] of [
      ['project_get', { project_id: value }],
      ['demo_foo', { text: 'x', [value]: 1 }],
    ] as const) {
      const { body } = await server.ask('POST', `/call/${name}`, { args });
      assert.match(body.error.message, /\[secret:REFUSED\]/);
      assert.ok(!JSON.stringify(body).includes(value));
    }
  });

  it('refuses arguments that break the schema, with their places, and counts nothing', async () => {
    await server.ask('PUT', bundle.tool('strict'), toolBody());
    const wrong = await invoke('strict', { args: { text: 5 } });
    assert.deepEqual(
      [wrong.status, wrong.body.error.code, wrong.body.error.details[0].path],
      [400, 'args.invalid', '/args/text'],
    );
    const missing = await invoke('strict', { args: {} });
    assert.equal(missing.body.error.details[0].path, '/args/text');
    assert.equal((await server.ask('GET', bundle.tool('strict'))).body.usage.callCount, 0);
  });

  it('takes {args} with an object and nothing else', async () => {
    await server.ask('PUT', bundle.tool('body'), toolBody());
    for (const body of [
      {},
      { args: null },
      { args: [] },
      { args: 'x' },
      { args: { text: 'x' }, more: 1 },
      [],
      '"x"',
      'null',
    ])
      assert.equal((await invoke('body', body)).status, 400, JSON.stringify(body));
    assert.equal((await invoke('body', '{"args":')).body.error.code, 'request.invalid');
    assert.equal((await invoke('body', '{"args":{"__proto__":{"x":1},"text":"a"}}')).status, 400);
  });

  it('says of a tool which patterns are not checked, and does not check them', async () => {
    const pattern = '^(?=.*\\d).*$';
    const argSchema = { type: 'object', properties: { text: { type: 'string', pattern } } };
    const made = await server.ask('PUT', bundle.tool('odd'), toolBody({ argSchema }));
    assert.deepEqual(made.body.uncheckedPatterns, [pattern]);
    assert.equal((await invoke('odd', { args: { text: 'no digit' } })).body.ok, true);
    assert.equal((await server.ask('GET', bundle.tool('t'))).body.uncheckedPatterns, undefined);
  });

  it('fills in defaults of the schema', async () => {
    const argSchema = { type: 'object', properties: { text: { type: 'string', default: 'hello' } } };
    await server.ask('PUT', bundle.tool('defaults'), toolBody({ argSchema }));
    const filled = await invoke('defaults', { args: {} });
    assert.deepEqual(filled.body, { ok: true, value: (await server.call('demo_foo', { text: 'hello' })).value });
  });

  it('says {ok:false} when a tool throws or its answer does not fit', async () => {
    await server.ask('PUT', bundle.tool('output'), toolBody({ outputSchema: { type: 'integer' } }));
    const { status, body } = await invoke('output', { args: { text: 'x' } });
    assert.deepEqual([status, body.ok, body.error.code, body.error.retryable], [200, false, 'output.invalid', false]);
    const argSchema = { type: 'object', properties: { expression: { type: 'string' } } };
    await server.ask('PUT', bundle.tool('throws'), toolBody({ argSchema, functionImpl: { func: 'calc.evaluate' } }));
    const thrown = await invoke('throws', { args: { expression: '1 +' } });
    assert.deepEqual([thrown.status, thrown.body.ok, thrown.body.error.code], [200, false, 'tool.failed']);
    for (const slug of ['output', 'throws']) {
      const { usage } = (await server.ask('GET', bundle.tool(slug))).body;
      assert.deepEqual([usage.callCount, usage.failureCount], [1, 1], `${slug}: what was dispatched counts`);
    }
  });

  it('says who may before what is switched off, and that before what is wrong with the arguments', async () => {
    await server.ask('PUT', bundle.tool('off'), toolBody({ isEnabled: false, access: 'write' }));
    const { token } = (await server.call('token_create', { name: 'reads', scope: 'read' })).value;
    const refused = await server.ask('POST', `${bundle.tool('off')}/invoke`, { args: {} }, token);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'scope.denied']);
    const off = await invoke('off', { args: {} });
    assert.deepEqual([off.status, off.body.error.code], [409, 'tool.disabled']);
  });

  it('limits calls per minute', async () => {
    await server.ask('PUT', bundle.tool('rare'), toolBody({ limits: { maxCallsPerMinute: 2 } }));
    assert.equal((await invoke('rare', { args: { text: 'x' } })).status, 200);
    assert.equal((await invoke('rare', { args: {} })).status, 400, 'a refused call does not count');
    assert.equal((await invoke('rare', { args: { text: 'x' } })).status, 200);
    const third = await invoke('rare', { args: { text: 'x' } });
    assert.deepEqual([third.status, third.body.error.code], [429, 'rate.limited']);
    assert.ok(Number(third.headers.get('retry-after')) >= 1);
  });

  it('bounds answers by the limit of the tool', async () => {
    await server.ask('PUT', bundle.tool('small'), toolBody({ limits: { maxResponseBytes: 1 } }));
    assert.equal((await invoke('small', { args: { text: 'x' } })).body.error.code, 'response.too_large');
  });

  it('bounds what a function is sent by the limit of the tool', async () => {
    await server.ask('PUT', bundle.tool('short'), toolBody({ limits: { maxRequestBytes: 20 } }));
    assert.equal((await invoke('short', { args: { text: 'x' } })).body.ok, true);
    const { status, body } = await invoke('short', { args: { text: 'x'.repeat(20) } });
    assert.deepEqual(
      [status, body.error],
      [
        200,
        {
          code: 'tool.failed',
          message: 'The arguments are larger than 20 bytes, the limit of calls_short.',
          retryable: false,
        },
      ],
    );
  });

  it('raises the level that a tool needs, and never lowers it', async () => {
    await server.ask('PUT', bundle.tool('raised'), toolBody({ access: 'admin' }));
    await server.ask('PUT', bundle.tool('same'), toolBody({ access: 'read' }));
    const { token } = (await server.call('token_create', { name: 'reader', scope: 'read' })).value;
    const refused = await server.ask('POST', '/call/calls_raised', { args: { text: 'x' } }, token);
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'scope.denied']);
    assert.equal((await server.ask('POST', '/call/calls_same', { args: { text: 'x' } }, token)).status, 200);
  });

  it('streams progress and the answer when asked to', async () => {
    await server.ask('PUT', bundle.tool('stream'), toolBody());
    const ask = (args: object) =>
      fetch(`${server.url}${bundle.tool('stream')}/invoke`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.token}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        },
        body: JSON.stringify({ args }),
      });
    const response = await ask({ text: 'x' });
    assert.match(response.headers.get('content-type') ?? '', /event-stream/);
    assert.match(await response.text(), /^event: result\ndata: \{"ok":true,"value":"\w+"\}\n\n$/);
    assert.equal((await ask({})).status, 400, 'a refusal still chooses its status');
  });
});
