import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { newUuid } from '../../src/schema/index.ts';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

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

  it('takes bodies as large as http.maxBodyBytes says now, also when it has changed, at every door', async () => {
    const set = (value?: number) =>
      server.ask('POST', '/call/settings_set', { args: { path: ['http', 'maxBodyBytes'], value } });
    const text = 'a'.repeat(2000);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping', params: { text } };
    const statuses = async (): Promise<number[]> => {
      const called = await server.ask('POST', '/call/demo_foo', { args: { text } });
      // A query keeps it from the short way past the router.
      const routed = await server.ask('POST', '/call/demo_foo?x', { args: { text } });
      const spoken = await fetch(`${server.url}/mcp/run`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.token}`,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify(ping),
      });
      await spoken.text();
      return [called.status, routed.status, spoken.status];
    };
    assert.deepEqual((await statuses()).slice(0, 2), [200, 200]);
    await set(1000);
    assert.deepEqual(await statuses(), [413, 413, 413]);
    await set();
    assert.deepEqual((await statuses()).slice(0, 2), [200, 200]);
  });

  for (const [what, odd] of [
    ['NUL', 'a\0b'],
    ['half of a surrogate pair', 'a\ud800'],
  ] as const)
    it(`stores no ${what} in the name or reach of a token, or in a project`, async () => {
      const refused = async (tool: string, args: object): Promise<unknown[]> => {
        const { status, body } = await server.ask('POST', `/call/${tool}`, { args });
        return [status, body.error?.code, body.error?.details[0]?.path];
      };
      const token = { name: 'fine', scope: 'read' };
      assert.deepEqual(await refused('token_create', { ...token, name: odd }), [400, 'request.invalid', '/args/name']);
      const narrow = await refused('token_create', { ...token, bundles: ['demo', odd] });
      assert.deepEqual(narrow, [400, 'request.invalid', '/args/bundles/1']);
      const project = await refused('project_create', { name: 'odd', description: odd });
      assert.deepEqual(project, [400, 'request.invalid', '/args/description']);
    });

  const send = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string | Uint8Array<ArrayBuffer>,
  ): Promise<{ status: number; allow: string | null; code: string; message: string }> => {
    const answer = await fetch(server.url + path, { method, headers, ...(body !== undefined && { body }) });
    const { error } = JSON.parse((await answer.text()) || '{"error":{}}');
    return { status: answer.status, allow: answer.headers.get('allow'), code: error.code, message: error.message };
  };

  it('takes JSON in UTF-8 and nothing else as a body', async () => {
    const auth = { authorization: `Bearer ${server.token}` };
    const put = (type: string, body: string | Uint8Array<ArrayBuffer>, more = {}) =>
      send('PUT', `/tools/bundles/${newUuid()}`, { ...auth, 'content-type': type, ...more }, body);
    const good = '{"slug":"body-x","displayName":"x","isEnabled":true}';
    assert.equal((await put('text/plain', good)).status, 415);
    assert.equal((await put('application/json; charset=utf-16', good)).status, 415);
    for (const type of ['Application/JSON', 'application/json;charset="UTF-8"', 'application/json; charset=us-ascii'])
      assert.match((await put(type, '')).message, /empty/, type);
    assert.match((await put('application/json', '\ufeff{}', { 'content-encoding': 'Identity' })).message, /slug/);
    assert.equal((await put('application/json', good, { 'content-encoding': 'gzip' })).status, 415);
    const broken = Uint8Array.from(Buffer.from(good.replace('"x"', '"\xff"'), 'latin1'));
    assert.match((await put('application/json', broken)).message, /not UTF-8/);
    for (const key of ['__proto__', '\\u005f_proto__']) {
      const proto = await put('application/json', good.replace('{', `{"${key}":{"isBuiltIn":true},`));
      assert.deepEqual(
        [proto.status, proto.message],
        [400, 'The request is not valid: /__proto__ is not a known field'],
      );
    }
    assert.match((await put('application/json', '{"slug": nope}')).message, /not valid JSON: Unexpected token 'o'$/);
    assert.match((await put('application/json', '')).message, /empty/);
  });

  it('says who may and what exists before what is wrong with a body', async () => {
    const type = { 'content-type': 'application/json' };
    for (const [headers, body] of [
      [type, '{"a":'],
      [{ 'content-type': 'text/csv' }, 'a'],
      [type, `"${'a'.repeat(5_000_000)}"`],
    ] as const)
      assert.equal((await send('PUT', bundle.tool('t'), headers, body)).status, 401, body.slice(0, 10));
    const auth = { authorization: `Bearer ${server.token}`, ...type };
    assert.equal((await send('POST', '/call/no_such_tool', auth, '{"a":')).code, 'tool.not_found');
    assert.equal((await send('PATCH', `/tools/bundles/${newUuid()}`, auth, '{"a":')).code, 'bundle.not_found');
  });

  it('answers 405 with the verbs there are, on every door, and 404 only where nothing is', async () => {
    const auth = { authorization: `Bearer ${server.token}` };
    for (const [method, path, allow] of [
      ['POST', '/health', 'GET, HEAD'],
      ['DELETE', '/ready', 'GET, HEAD'],
      ['HEAD', '/tools/tools', 'GET'],
      ['OPTIONS', '/tools/bundles', 'GET'],
      ['GET', '/call/demo_foo', 'POST'],
      ['PATCH', '/auth/signin', 'POST'],
      ['POST', '/events', 'GET'],
      ['HEAD', '/events', 'GET'],
      ['PUT', `/tools/bundles/${newUuid()}/tools/${'a'.repeat(200)}/version/v1/invoke`, 'POST'],
    ] as const) {
      const answer = await send(method, path, auth);
      assert.deepEqual([answer.status, answer.allow], [405, allow], `${method} ${path.slice(0, 60)}`);
    }
    for (const [method, path] of [
      ['OPTIONS', '/nothing'],
      ['HEAD', '/nothing'],
      ['GET', '/tools/bundles/'],
      ['GET', '/tools/tools/'],
    ] as const)
      assert.equal((await send(method, path, auth)).status, 404, `${method} ${path}`);
    // Where nothing is, no body is looked at.
    for (const [method, path, status] of [
      ['POST', '/nothing', 404],
      ['POST', '/health', 405],
    ] as const)
      for (const [type, body] of [
        ['text/csv', 'a,b'],
        ['application/json', `"${'a'.repeat(5_000_000)}"`],
      ] as const)
        assert.equal((await send(method, path, { 'content-type': type }, body)).status, status, `${path} ${type}`);
  });

  it('answers what is no HTTP request in the same shape', async () => {
    const { port } = new URL(server.url);
    const said = (request: string): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(request));
      return text(socket);
    };
    for (const [request, status, code] of [
      ['FETCH / HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'request.invalid'],
      ['nonsense\r\n\r\n', 400, 'request.invalid'],
      [`GET /?${'a'.repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 431, 'headers.too_large'],
      ['GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 403, 'origin.refused'],
    ] as const) {
      const [head = '', body = ''] = (await said(request)).split('\r\n\r\n');
      assert.ok(head.startsWith(`HTTP/1.1 ${status} `), head);
      const { error } = JSON.parse(body);
      assert.equal(error.code, code);
      assert.match(error.requestId, /^req_/);
    }
  });

  it('takes no notice of an expectation that nobody knows', async () => {
    const { host, port } = new URL(server.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET /health HTTP/1.1\r\nHost: ${host}\r\nExpect: tea\r\nConnection: close\r\n\r\n`);
    assert.match(await text(socket), /^HTTP\/1\.1 200 [^]*"status":"ok"/);
  });

  it('says nothing into an answer that has begun', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let said = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
    socket.write(`GET /events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\n\r\n`);
    await until(() => said.includes('event: hello'));
    socket.write('nonsense\r\n\r\n');
    await new Promise((closed) => socket.once('close', closed));
    assert.doesNotMatch(said, /request\.invalid/);
  });

  it('lets those who send too much finish, so that they can read why', async () => {
    const { port } = new URL(server.url);
    const size = 32 * 2 ** 20;
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`POST /call/demo_foo HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${server.token}\r\n`);
    socket.write(`Content-Type: application/json\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`);
    const said = text(socket);
    await new Promise((sent) => socket.write(Buffer.alloc(size), sent));
    assert.match(await said, /^HTTP\/1\.1 413 [^]*body\.too_large/);
  });

  it('does not read for ever what nobody asked for', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    socket.on('error', () => {});
    let said = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (said += chunk));
    socket.write('POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n');
    const piece = Buffer.alloc(2 ** 20);
    for (let sent = 0; said === '' && sent < 512; sent++) await new Promise((taken) => socket.write(piece, taken));
    assert.match(said, /^HTTP\/1\.1 404 [^]*route\.not_found/);
    socket.destroy();
  });

  it('refuses an endless name in the address without repeating it', async () => {
    const { status, body } = await server.ask('POST', `/call/${'a'.repeat(5000)}`, { args: {} });
    assert.deepEqual([status, body.error.code], [400, 'request.invalid']);
    assert.match(body.error.message, /^The request is not valid: a part of the address is longer than any name/);
  });

  it('shows a wrong value whole characters at a time', async () => {
    const { body } = await server.ask('PUT', bundle.tool('t', '\u{10400}'.repeat(65)), toolBody({}));
    assert.equal(body.error.code, 'request.invalid');
    assert.ok((body.error.message as string).isWellFormed());
    assert.ok((body.error.message as string).endsWith('")'));
  });

  it('says of a union what concerns the branch that was meant', async () => {
    const reason = async (auth: object, response = {}): Promise<string> => {
      const request = { method: 'GET', urlTemplate: 'http://127.0.0.1:1/', auth };
      const { body } = await server.ask('PUT', bundle.tool('t'), {
        ...toolBody({ type: 'http', httpImpl: { request, response } }),
        functionImpl: undefined,
      });
      return body.error.message.replace('The request is not valid: /httpImpl/', '');
    };
    assert.equal(await reason({ type: 'bearer' }), 'request/auth/value is missing');
    assert.equal(await reason({}), 'request/auth/type is missing');
    assert.equal(
      await reason({ type: 'nope' }),
      'request/auth/type must be one of "apiKey", "bearer", "basic", "hmac", "oauth2"',
    );
    assert.equal(
      await reason({ type: 'hmac', algorithm: 'md5', secret: 's', header: 'h', payload: 'p' }),
      'request/auth/algorithm must be "sha256"',
    );
    assert.equal(
      await reason({ type: 'bearer', value: 'v' }, { errorMode: 'x' }),
      'response/errorMode must be one of "fail", "empty"',
    );
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
    const endless = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    for (const [method, path] of [
      ['PUT', bundle.path],
      ['PATCH', bundle.path],
      ['PUT', bundle.tool('deep')],
      ['POST', '/call/demo_foo'],
    ] as const)
      assert.equal((await server.ask(method, path, endless)).status, 400, `${method} ${path}`);
    const deepest = `${'{"a":'.repeat(2500)}1${'}'.repeat(2500)}`;
    assert.equal((await server.ask('POST', '/auth/signin', deepest)).status, 400);
    assert.equal((await server.ask('POST', '/auth/signin', endless)).status, 413);
  });

  it('takes in no more large bodies at once than it has room for, and none of strangers', async () => {
    const size = 4_000_000;
    const hold = (path: string, token: string): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
        socket.on('error', reject);
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n`,
        );
        socket.write(Buffer.alloc(size - 1, ' '), () => resolve(socket));
      });
    const large = `{"args":{"text":"${'a'.repeat(3_000_000)}"}}`;
    const ask = (path: string) => server.ask('POST', path, large);
    const held: Socket[] = [];
    try {
      // Half of them come by the router, half before it; what strangers send is not kept.
      for (let i = 0; i < 40; i++) {
        held.push(await hold(i % 2 ? '/call/demo_foo' : '/call/demo_foo?x', server.token));
        held.push(await hold('/tools/import', 'oub_unknown'));
      }
      const refusals = new Map<string, Awaited<ReturnType<typeof ask>>>();
      await until(async () => {
        for (const path of ['/call/demo_foo', '/call/demo_foo?x', '/mcp/run']) {
          const answer = await ask(path);
          if (answer.status === 503) refusals.set(path, answer);
        }
        return refusals.size === 3;
      }, 20_000);
      for (const { body, headers } of refusals.values()) {
        assert.equal(body.error.code, 'server.busy');
        assert.equal(headers.get('retry-after'), '1');
      }
      assert.equal((await server.call('demo_foo', { text: 'small' })).ok, true);
    } finally {
      for (const socket of held) socket.destroy();
    }
    await until(async () => (await ask('/call/demo_foo')).status === 200, 20_000);
  });

  it('runs patterns that would take others hours', async () => {
    const argSchema = { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } };
    assert.equal((await server.ask('PUT', bundle.tool('redos'), toolBody({ argSchema }))).status, 201);
    const started = Date.now();
    const { status } = await server.ask('POST', `${bundle.tool('redos')}/invoke`, {
      args: { text: `${'a'.repeat(40)}!` },
    });
    assert.equal(status, 400);
    assert.ok(Date.now() - started < 20_000);
  });

  it('answers what the router itself refuses in the same shape', async () => {
    for (const path of ['/tools/bundles/%E0%A4%A', `/call/${'a'.repeat(3000)}`]) {
      const { status, body } = await server.ask(path.startsWith('/call') ? 'POST' : 'GET', path);
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
