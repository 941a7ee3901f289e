import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import fc from '../kit/fast-check.ts';
import type { HttpImpl } from '../../src/schema/index.ts';
import { answerOk, hasCode, openPlace } from './testbed.ts';

const { server, bench } = await openPlace(({ host }) => [host], answerOk);
beforeEach(() => void server.seen.splice(0));

const last = () => server.seen.at(-1)!;
const get = (urlTemplate: string, more: Partial<HttpImpl['request']> = {}): HttpImpl['request'] => ({
  method: 'GET',
  urlTemplate: server.url + urlTemplate,
  ...more,
});

test('values are encoded for the path, the query and the header they stand in', async () => {
  const nasty = 'a/b?c=d&e#f %2f ü';
  await bench.run(get('/x/${v}/y?q=${v}', { query: { r: '${v}', fixed: 'a b' }, headers: { 'X-V': '${h}' } }), {
    v: nasty,
    h: 'plain é',
  });
  const url = new URL(last().url, server.url);
  assert.equal(url.pathname, `/x/${encodeURIComponent(nasty)}/y`);
  assert.deepEqual(
    [...url.searchParams],
    [
      ['q', nasty],
      ['r', nasty],
      ['fixed', 'a b'],
    ],
  );
  assert.equal(last().headers['x-v'], 'plain é');
});

test('whatever the value, the server reads back exactly that value from path and query', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 1 }).filter((each) => each !== '.' && each !== '..'),
      async (value) => {
        await bench.run(get('/p/${v}?a=${v}', { query: { b: '${v}' } }), { v: value });
        const [path = '', search = ''] = last().url.split('?');
        assert.equal(decodeURIComponent(path.slice(3)), value);
        assert.deepEqual(
          [...new URLSearchParams(search)],
          [
            ['a', value],
            ['b', value],
          ],
        );
      },
    ),
    { numRuns: 200 },
  );
});

test('what changes something is not sent to a path that an empty value made another', async () => {
  const remove = (urlTemplate: string, args: object) =>
    bench.run(get(urlTemplate, { method: 'DELETE' }), args as Record<string, unknown>);
  for (const id of ['', []])
    await assert.rejects(
      remove('/users/${id}', { id }),
      hasCode('tool.failed', /needs \$\{id\}, but the value is empty/),
    );
  await assert.rejects(remove('/${a}${id}/x', { a: '', id: '' }), hasCode('tool.failed', /\$\{a\}, \$\{id\}/));
  assert.equal(server.seen.length, 0);
  await remove('/users//a${id}', { id: '' });
  assert.equal(last().url, '/users//a');
  await bench.run(get('/contents/${id}'), { id: '' });
  assert.equal(last().url, '/contents/');
});

test('a value cannot climb out of its path segment', async () => {
  for (const value of ['..', '.'])
    await assert.rejects(bench.run(get('/users/${id}/profile'), { id: value }), hasCode('tool.failed', /path segment/));
  await assert.rejects(bench.run(get('/users/%2${id}'), { id: 'e' }), hasCode('tool.failed'));
  await bench.run(get('/users/${id}'), { id: '../admin' });
  assert.equal(last().url, '/users/..%2Fadmin');
  assert.equal(server.seen.length, 1);
});

test('a missing optional value leaves its query and header out, a missing one in the path is an error before sending', async () => {
  const argSchema = { type: 'object', properties: { a: {}, b: {} } };
  await bench.run(
    get('/x?one=${a}&two=2', { query: { three: '${a}', four: 'x${b}' }, headers: { 'x-a': '${a}', 'x-c': 'c' } }),
    { b: null },
    { argSchema },
  );
  assert.equal(last().url, '/x?two=2');
  assert.deepEqual([last().headers['x-a'], last().headers['x-c']], [undefined, 'c']);
  await assert.rejects(bench.run(get('/x/${a}'), {}, { argSchema }), hasCode('tool.failed', /\$\{a\}/));
  assert.equal(server.seen.length, 1);
});

test('line breaks never reach a header', async () => {
  for (const value of ['a\r\nX-Evil: 1', 'a\nb', 'a\rb', 'a\0b', '漢'])
    await assert.rejects(
      bench.run(get('/', { headers: { 'x-v': '${v}' } }), { v: value }),
      hasCode('tool.failed', /header/),
      JSON.stringify(value),
    );
  for (const auth of [
    { type: 'bearer', value: '${v}' },
    { type: 'apiKey', in: 'header', name: 'x-k', value: '${v}' },
    { type: 'apiKey', in: 'header', name: '${v}', value: 'x' },
  ] as const)
    await assert.rejects(bench.run(get('/', { auth }), { v: 'a\r\nX-Evil: 1' }), hasCode('tool.failed'));
  assert.equal(server.seen.length, 0);
});

test('a placeholder alone keeps its type in a JSON body, others become text', async () => {
  const body = {
    n: '${n}',
    list: '${l}',
    nested: { flag: '${f}', text: 'n=${n} l=${l[1].x}' },
    nothing: '${nil}',
    gone: '${gone}',
    items: ['${gone}', '${n}'],
    literal: '$${n}',
    plain: 3,
  };
  const args = { n: 1.5, l: ['a', { x: 'deep' }], f: false, nil: null };
  await bench.run({ method: 'POST', urlTemplate: `${server.url}/`, body }, args, {
    argSchema: { properties: { n: {}, l: {}, f: {}, nil: {}, gone: {} } },
  });
  assert.deepEqual(JSON.parse(last().body), {
    n: 1.5,
    list: ['a', { x: 'deep' }],
    nested: { flag: false, text: 'n=1.5 l=deep' },
    nothing: null,
    items: [1.5],
    literal: '${n}',
    plain: 3,
  });
  assert.equal(last().headers['content-type'], 'application/json');
});

test('a body that is text is sent as text, and values are encoded for what the content type says it is', async () => {
  const send = (body: unknown, contentType: string | undefined, args: Record<string, unknown>) =>
    bench.run(
      {
        method: 'POST',
        urlTemplate: `${server.url}/`,
        body,
        ...(contentType && { headers: { 'Content-Type': contentType } }),
      },
      args,
    );
  await send('hello ${v}', undefined, { v: '"you"' });
  assert.deepEqual([last().body, last().headers['content-type']], ['hello "you"', 'text/plain; charset=utf-8']);
  await send('{"q":"${v}","n":${n}}', 'application/json', { v: '","admin":"x', n: [1] });
  assert.deepEqual(JSON.parse(last().body), { q: '","admin":"x', n: [1] });
  await send('a=${v}&b=1', 'application/x-www-form-urlencoded', { v: '1&admin=true' });
  assert.deepEqual(
    [...new URLSearchParams(last().body)],
    [
      ['a', '1&admin=true'],
      ['b', '1'],
    ],
  );
  await send({ a: '${v}', l: '${l}' }, 'application/x-www-form-urlencoded', { v: 'x y', l: ['1', '2'] });
  assert.deepEqual(
    [...new URLSearchParams(last().body)],
    [
      ['a', 'x y'],
      ['l', '1'],
      ['l', '2'],
    ],
  );
  await send('<a b="${v}">${v}</a>', 'application/xml', { v: '"<&>\'' });
  assert.equal(last().body, '<a b="&#34;&#60;&#38;&#62;&#39;">&#34;&#60;&#38;&#62;&#39;</a>');
  await send('${v}', undefined, { v: { whole: true } });
  assert.deepEqual([last().body, last().headers['content-type']], ['{"whole":true}', 'application/json']);
  for (const value of [5, true, null]) {
    await send('${v}', undefined, { v: value });
    assert.deepEqual([last().body, last().headers['content-type']], [JSON.stringify(value), 'application/json']);
  }
  await send('<doc/>', 'application/xml', {});
  await send('${v}', 'application/xml', { v: '<doc/>' });
  assert.equal(last().body, '<doc/>');
  await send({ file: '${v}' }, 'multipart/form-data', { v: 'content' });
  assert.match(last().body, /name="file"\r\n\r\ncontent\r\n/);
});

test('a list is repeated in a query and joined in a path', async () => {
  await bench.run(get('/x/${l}?a=${l}', { query: { b: '${l}', c: ['1', '${s}'], d: 5 } }), { l: ['1', 'x/y'], s: 's' });
  assert.equal(last().url, '/x/1,x%2Fy?a=1&a=x%2Fy&b=1&b=x%2Fy&c=1&c=s&d=5');
});

test('beside other text of a query a list is joined, and an object is JSON, whatever it holds', async () => {
  const o = { toString: 1 };
  await bench.run(get('/x', { query: { a: 'o ${o}', b: 'l ${l}' } }), { o, l: ['1', o] });
  assert.deepEqual(Object.fromEntries(new URL(last().url, 'http://x').searchParams), {
    a: 'o {"toString":1}',
    b: 'l 1,{"toString":1}',
  });
});

test('an argument can never select a secret, and a secret never stands in for an argument', async () => {
  await bench.secrets.set('API_KEY', 'the-secret-value');
  const argSchema = { type: 'object', properties: { name: {}, API_OTHER: {} } };
  await bench.run(get('/', { query: { n: '${name}' } }), { name: '${API_KEY}' }, { argSchema });
  assert.equal(new URLSearchParams(last().url.slice(2)).get('n'), '${API_KEY}');
  await bench.run(
    get('/', { query: { o: '${API_OTHER}', k: '${API_KEY}' } }),
    { API_KEY: 'from the caller' },
    { argSchema },
  );
  assert.equal(last().url, '/?k=the-secret-value');
});

test('nothing comes from the environment or from prototypes', async () => {
  process.env['OUB_TEST_ENV'] = 'from the environment';
  await assert.rejects(
    bench.run(get('/', { query: { e: '${OUB_TEST_ENV}' } })),
    hasCode('secret.missing', /OUB_TEST_ENV/),
  );
  delete process.env['OUB_TEST_ENV'];
  const argSchema = { properties: { a: {}, constructor: {} } };
  await bench.run(get('/', { query: { c: '${a.constructor.name}', d: '${constructor}' } }), { a: {} }, { argSchema });
  assert.equal(last().url, '/');
});

test('a missing secret has its own error and nothing is sent', async () => {
  await assert.rejects(
    bench.run(get('/', { auth: { type: 'bearer', value: '${NOT_SET}' } })),
    hasCode('secret.missing', /oubliette secret set NOT_SET/),
  );
  assert.equal(server.seen.length, 0);
});

test('a secret bound to hosts goes to no other', async () => {
  await bench.secrets.set('BOUND', 'bound-secret-1', ['api.example.org']);
  await assert.rejects(bench.run(get('/', { headers: { 'x-k': '${BOUND}' } })), hasCode('host.not_allowed', /BOUND/));
  assert.equal(server.seen.length, 0);
  await bench.secrets.set('BOUND', 'bound-secret-1', [server.host]);
  await bench.run(get('/', { headers: { 'x-k': '${BOUND}' } }));
  assert.equal(last().headers['x-k'], 'bound-secret-1');
});

test('every kind of auth puts its credentials where they belong', async () => {
  await bench.secrets.set('PASSWORD', 'pass:wörd');
  await bench.run(get('/', { auth: { type: 'bearer', value: '${t}' } }), { t: 'tok' });
  assert.equal(last().headers.authorization, 'Bearer tok');
  await bench.run(get('/', { auth: { type: 'basic', username: 'me', password: '${PASSWORD}' } }));
  assert.equal(last().headers.authorization, `Basic ${Buffer.from('me:pass:wörd').toString('base64')}`);
  await bench.run(get('/?a=1', { auth: { type: 'apiKey', in: 'query', name: 'key', value: '${PASSWORD}' } }));
  assert.equal(new URLSearchParams(last().url.slice(2)).get('key'), 'pass:wörd');
  await bench.run(get('/', { auth: { type: 'apiKey', in: 'header', name: 'X-Api-Key', value: 'k' } }));
  assert.equal(last().headers['x-api-key'], 'k');
  await bench.secrets.set('SIGNING', 'signing-key');
  await bench.run(
    {
      method: 'POST',
      urlTemplate: `${server.url}/sign?x=1`,
      body: { a: '${a}' },
      headers: { 'x-time': '${@timestamp}' },
      auth: {
        type: 'hmac',
        algorithm: 'sha256',
        secret: '${SIGNING}',
        header: 'X-Signature',
        payload: '${@method} ${@path} ${@timestamp} ${@body} ${a}',
      },
    },
    { a: 'v' },
  );
  const payload = `POST /sign?x=1 ${String(last().headers['x-time'])} {"a":"v"} v`;
  assert.equal(last().headers['x-signature'], createHmac('sha256', 'signing-key').update(payload).digest('hex'));
});

test('the preview shows the request with every secret masked and sends nothing', async () => {
  await bench.secrets.set('PREVIEW_KEY', 'do-not-show-me');
  const tool = bench.tool(
    {
      method: 'POST',
      urlTemplate: `${server.url}/p/\${id}`,
      query: { k: '${PREVIEW_KEY}' },
      body: { s: '${PREVIEW_KEY}', u: '${UNSET_KEY}' },
      auth: { type: 'basic', username: 'me', password: '${PREVIEW_KEY}' },
    },
    { argSchema: { properties: { id: {} } } },
  );
  const preview = await bench.source.preview(tool, { id: 'a b' });
  assert.equal(preview.url, `${server.url}/p/a%20b?k=%5Bsecret%3APREVIEW_KEY%5D`);
  assert.equal(preview.body, '{"s":"[secret:PREVIEW_KEY]","u":"[secret:UNSET_KEY]"}');
  assert.equal(preview.headers['authorization'], 'Basic [base64 of me:[secret:PREVIEW_KEY]]');
  assert.deepEqual(preview.secrets, [
    { name: 'PREVIEW_KEY', isSet: true },
    { name: 'UNSET_KEY', isSet: false },
  ]);
  assert.equal(server.seen.length, 0);
});

test('a template of megabytes is filled without trouble', async () => {
  const body = 'x${v}'.repeat(200_000);
  await bench.run({ method: 'POST', urlTemplate: `${server.url}/`, body }, { v: '1' });
  assert.equal(last().body.length, 400_000);
});
