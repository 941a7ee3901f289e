import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import type { Call, Failure, HttpImpl } from '../../src/schema/index.ts';
import { answerOk, hasCode, openBench, openPlace } from './testbed.ts';

const { server, bench } = await openPlace(({ host }) => [host], answerOk);
beforeEach(() => void server.seen.splice(0));

const get = (path: string): HttpImpl['request'] => ({ method: 'GET', urlTemplate: server.url + path });

test('a tool that could reach elsewhere or cannot be understood is refused when it is stored', () => {
  const argSchema = { type: 'object', properties: { h: {} } };
  const check = (request: Partial<HttpImpl['request']>, response?: HttpImpl['response']) =>
    bench.source.check(
      bench.tool(
        { request: { method: 'GET', urlTemplate: `${server.url}/`, ...request }, ...(response && { response }) },
        { argSchema },
      ),
    );
  const urls = [
    '${h}://127.0.0.1/',
    'http://${h}/',
    'http://127.0.0.1:${h}/',
    'http://127.0.0.1${h}/',
    'http://a@127.0.0.1/',
    'http://a:b@127.0.0.1/',
    'ftp://127.0.0.1/',
    'HTTPS//x',
    '/relative',
    'http://',
    'http:///x',
    'http://a b/',
    'http://x\\y/',
    'http://${SECRET}/',
    '',
    'javascript:alert(1)',
    `http://127.0.0.1/${'a'.repeat(20_000)}`,
  ];
  for (const urlTemplate of urls)
    assert.throws(
      () => void check({ urlTemplate }),
      hasCode('request.invalid', /urlTemplate/),
      urlTemplate.slice(0, 50),
    );
  for (const urlTemplate of [
    'http://example.org/',
    'http://127.0.0.1:1/',
    'http://localhost/',
    'http://169.254.169.254/latest',
    'http://2130706433:1/',
    'http://[::ffff:127.0.0.1]:1/',
  ])
    assert.throws(() => void check({ urlTemplate }), hasCode('host.not_allowed', /allowedHosts/), urlTemplate);
  for (const method of ['', 'BREW', 'CONNECT', 'TRACE', 'GET\r\n'])
    assert.throws(() => void check({ method }), hasCode('request.invalid', /method/), method);
  for (const name of ['bad name', 'Host', 'content-length', 'Transfer-Encoding', 'x\r\ny', ''])
    assert.throws(() => void check({ headers: { [name]: 'v' } }), hasCode('request.invalid', /header/), name);
  assert.throws(
    () => void check({ urlTemplate: `${server.url}/a\r\nX: y` }),
    hasCode('request.invalid', /control character/),
  );
  const placeOf = (run: () => unknown): string | undefined => {
    try {
      run();
    } catch (error) {
      return (error as Failure).details[0]?.path;
    }
    return undefined;
  };
  assert.equal(
    placeOf(() => check({ headers: { 'x-a/b': 'v\r\n' } })),
    '/httpImpl/request/headers/x-a~1b',
  );
  assert.equal(
    placeOf(() => check({ headers: { 'x-key': 'v\r\n' } })),
    '/httpImpl/request/headers/x-key',
  );
  assert.equal(
    placeOf(() => check({ method: 'BREW' })),
    '/httpImpl/request/method',
  );
  assert.equal(
    placeOf(() => check({}, { select: 'a.[' })),
    '/httpImpl/response/select',
  );
  assert.throws(() => void check({ headers: { a: 'b\r\nc' } }), hasCode('request.invalid'));
  for (const form of ['${', '${}', '${a b}', '${h.}', '${h[x]}', '${unknown.path}', '${1}', '${h', '${漢}'])
    assert.throws(
      () => void check({ query: { q: form } }),
      hasCode('request.invalid', /placeholder|secret|declared/),
      form,
    );
  for (const select of ['[', 'a..b', '/a~2', 'foo('])
    assert.throws(() => void check({}, { select }), hasCode('request.invalid', /select/), select);
  assert.throws(
    () =>
      void check({
        auth: { type: 'oauth2', grant: 'refresh_token', tokenUrl: server.url, clientId: 'a', clientSecret: 'b' },
      }),
    hasCode('request.invalid', /refreshToken/),
  );
  assert.throws(
    () =>
      void check({
        auth: {
          type: 'oauth2',
          grant: 'client_credentials',
          tokenUrl: 'http://elsewhere.example/',
          clientId: 'a',
          clientSecret: 'b',
        },
      }),
    hasCode('host.not_allowed'),
  );
});

test('with an empty list of hosts the refusal says which line to add', async () => {
  const closed = await openBench([]);
  assert.throws(
    () => void closed.source.check(closed.tool(get('/'))),
    hasCode('host.not_allowed', new RegExp(`allowedHosts: \\[${server.host}\\]`)),
  );
  await closed.close();
});

test('a stored tool whose host is not on the list when it is called is refused then', async () => {
  const other = await openBench([]);
  const call = { signal: new AbortController().signal, progress: () => {} } as unknown as Call;
  await assert.rejects(other.source.run(other.tool(get('/')), {}, call), hasCode('host.not_allowed'));
  await other.close();
  // A name is refused as such, even if the address it leads to is listed.
  const byAddress = await openBench(['127.0.0.1']);
  const byName = { ...get('/'), urlTemplate: server.url.replace('127.0.0.1', 'localhost') };
  await assert.rejects(byAddress.source.run(byAddress.tool(byName), {}, call), hasCode('host.not_allowed'));
  await byAddress.close();
  assert.equal(server.seen.length, 0);
});

test('a tool whose file was edited by hand is run as it is now', async () => {
  const call = { signal: new AbortController().signal, progress: () => {} } as unknown as Call;
  const tool = bench.tool(get('/before'));
  await bench.source.run(tool, {}, call);
  await bench.source.run({ ...tool, httpImpl: { request: get('/after') } }, {}, call);
  assert.deepEqual(
    server.seen.map((each) => each.url),
    ['/before', '/after'],
  );
});

test('GET and HEAD are read, everything else is write', () => {
  const level = (method: string) => bench.source.level(bench.tool({ method, urlTemplate: server.url }));
  assert.deepEqual(['GET', 'HEAD', 'get', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map(level), [
    'read',
    'read',
    'read',
    'write',
    'write',
    'write',
    'write',
    'write',
  ]);
});
