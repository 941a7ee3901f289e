import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { startTestServer, type TestServer as Server } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';
import { testServer, type TestServer } from './testbed.ts';

let page: TestServer;
let hidden: TestServer;
let server: Server;
before(async () => {
  page = await testServer();
  hidden = await testServer();
  server = await startTestServer();
  await writeFile(join(server.home, 'config.yaml'), `version: 1\nallowedHosts: ["${page.host}"]\n`);
  page.answer = (_, response) => response.end('ready');
  await until(async () => (await call('web_fetch', { url: page.url })).ok);
});
after(async () => {
  await server.stop();
  page.close();
  hidden.close();
});
beforeEach(() => {
  page.seen.splice(0);
});

async function call(name: string, args: object): Promise<any> {
  const answer = await server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
  return answer.json();
}
const html =
  (body: string, headers: object = { 'content-type': 'text/html; charset=utf-8' }): TestServer['answer'] =>
  (_, response) =>
    response.writeHead(200, headers as Record<string, string>).end(body);

test('a page is fetched as text, as Markdown or as JSON', async () => {
  page.answer = html(
    '<html><head><title>t</title><script>evil()</script></head><body><h1>Head</h1><p>Some <b>bold</b> <a href="/x">link</a></p><ul><li>one</li></ul></body></html>',
  );
  const got = await call('web_fetch', { url: `${page.url}/a`, format: 'markdown' });
  assert.deepEqual(got.value, {
    url: `${page.url}/a`,
    status: 200,
    content_type: 'text/html; charset=utf-8',
    content: '# Head\n\nSome **bold** [link](/x)\n\n-   one',
  });
  assert.match((await call('web_fetch', { url: page.url })).value.content, /^<html>/);
  page.answer = html('{"a":[1]}', { 'content-type': 'application/json' });
  assert.deepEqual((await call('web_fetch', { url: page.url, format: 'json' })).value.content, { a: [1] });
  page.answer = html('no json');
  assert.equal((await call('web_fetch', { url: page.url, format: 'json' })).error.code, 'tool.failed');
  page.answer = (_, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(Buffer.from('<meta charset="iso-8859-1">\xe9', 'latin1'));
  assert.match((await call('web_fetch', { url: page.url })).value.content, /é$/);
});

test('a large page is made Markdown beside everyone else, and one nested beyond all sense does no harm', async () => {
  page.answer = html(`<body>${'<p>word <i>it</i></p>'.repeat(20_000)}</body>`);
  const slow = call('web_fetch', { url: page.url, format: 'markdown', timeout_ms: 60_000 });
  let isOver = false;
  let served = 0;
  const over = slow.finally(() => (isOver = true));
  while (!isOver) {
    await (await fetch(`${server.url}/health`)).text();
    if (!isOver) served++;
  }
  assert.equal((await over).ok, true);
  assert.ok(served >= 10, `${served} others were served meanwhile`);
  page.answer = html(`<body>${'<div>'.repeat(50_000)}x`);
  const deep = await call('web_fetch', { url: page.url, format: 'markdown', timeout_ms: 500 });
  assert.equal(deep.error.code, 'tool.timeout');
  page.answer = html('<p>again</p>'.repeat(5_000));
  assert.equal((await call('web_fetch', { url: page.url, format: 'markdown', timeout_ms: 60_000 })).ok, true);
});

test('size, time, status and hosts are held', async () => {
  page.answer = html('x'.repeat(2_000));
  assert.equal((await call('web_fetch', { url: page.url, max_bytes: 1_000 })).error.code, 'response.too_large');
  page.answer = html(brotliCompressSync(Buffer.alloc(20_000_000)) as unknown as string, { 'content-encoding': 'br' });
  assert.equal((await call('web_fetch', { url: page.url })).error.code, 'response.too_large');
  page.answer = () => {};
  assert.equal((await call('web_fetch', { url: page.url, timeout_ms: 100 })).error.code, 'tool.timeout');
  page.answer = (_, response) => response.writeHead(404).end('gone');
  assert.match((await call('web_fetch', { url: page.url })).error.message, /404: gone/);
  for (const url of [
    hidden.url,
    'http://169.254.169.254/',
    'file:///etc/passwd',
    'nonsense',
    `http://me@${page.host}/`,
  ])
    assert.equal((await call('web_fetch', { url })).error.code, 'host.not_allowed', url);
  page.answer = (_, response) => response.writeHead(302, { location: hidden.url }).end();
  assert.equal((await call('web_fetch', { url: page.url })).error.code, 'host.not_allowed');
  assert.equal(hidden.seen.length, 0);
  assert.equal((await call('web_fetch', { url: page.url, surprise: 1 })).error.code, 'args.invalid');
});

test('many pages are fetched side by side, and one that fails does not fail the others', async () => {
  page.answer = (request, response) => response.writeHead(request.url === '/bad' ? 500 : 200).end(request.url);
  const { value } = await call('web_fetch_batch', {
    urls: [`${page.url}/1`, `${page.url}/bad`, hidden.url, `${page.url}/4`],
  });
  assert.deepEqual(
    value.results.map((each: { content?: string; error?: { code: string } }) => each.content ?? each.error?.code),
    ['/1', 'tool.failed', 'host.not_allowed', '/4'],
  );
});

const document = () => ({
  openapi: '3.1.0',
  info: { title: 'Things', version: '1' },
  servers: [{ url: `${page.url}/api` }],
  components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
  security: [{ key: [] }],
  paths: {
    '/things/{id}': {
      get: {
        operationId: 'getThing',
        parameters: [
          { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
          { name: 'with', in: 'query', schema: { type: 'string' } },
        ],
      },
    },
    '/things': {
      post: {
        operationId: 'addThing',
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
      },
      trace: {},
    },
  },
});

test('an OpenAPI document becomes tools that can be called', async () => {
  page.answer = (request, response) =>
    request.url === '/openapi.json'
      ? response.end(JSON.stringify(document()))
      : response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify([request.method, request.url, request.headers['x-key'], request.body]));
  const dry = await call('catalog_import_openapi', { text: JSON.stringify(document()), dry_run: true });
  assert.deepEqual(
    [dry.value.operations, dry.value.imported, dry.value.not_imported],
    [3, 2, [{ operation: 'TRACE /things', reason: 'TRACE cannot be sent' }]],
  );
  const { value } = await call('catalog_import_openapi', { url: `${page.url}/openapi.json` });
  assert.deepEqual(
    [value.bundle, value.tools_created, value.hosts, value.secrets.map((each: { name: string }) => each.name)],
    ['things', 2, [page.host], ['THINGS_KEY']],
  );
  assert.equal((await call('things_get_thing', { id: 7 })).error.code, 'secret.missing');
  await call('secret_set', { name: 'THINGS_KEY', value: 'key-of-things' });
  assert.deepEqual((await call('things_get_thing', { id: 7, with: 'a b' })).value, [
    'GET',
    '/api/things/7?with=a%20b',
    '[secret:THINGS_KEY]',
    '',
  ]);
  assert.deepEqual((await call('things_add_thing', { body: { a: 1 } })).value[3], '{"a":1}');
  assert.equal((await call('things_get_thing', { id: 'x' })).error.code, 'args.invalid');
  assert.equal((await call('catalog_import_openapi', { url: `${page.url}/openapi.json` })).error.code, 'tool.exists');
  assert.deepEqual(
    (await call('catalog_import_openapi', { url: `${page.url}/openapi.json`, conflict: 'skip' })).value.tools_skipped,
    2,
  );
});

test('an import of what is no document or leads to hosts that are not allowed stores nothing', async () => {
  const far = { ...document(), info: { title: 'Far' }, servers: [{ url: 'https://far.example.org' }] };
  assert.equal((await call('catalog_import_openapi', { text: JSON.stringify(far) })).error.code, 'host.not_allowed');
  assert.equal((await call('catalog_import_openapi', { text: 'hello' })).error.code, 'import.invalid');
  assert.equal((await call('catalog_import_openapi', { url: hidden.url })).error.code, 'host.not_allowed');
  assert.equal((await call('catalog_import_openapi', {})).error.code, 'args.invalid');
  page.answer = (_, response) => response.destroy();
  assert.equal((await call('catalog_import_openapi', { url: page.url })).error.code, 'source.unreachable');
  page.answer = (_, response) => response.writeHead(404).end();
  assert.equal((await call('catalog_import_openapi', { url: page.url })).error.code, 'import.invalid');
  assert.equal(hidden.seen.length, 0);
  const { bundles } = (await (await server.fetch('/tools/bundles?pageSize=256&includeDisabled=true')).json()) as {
    bundles: { slug: string }[];
  };
  assert.equal(
    bundles.some((each) => each.slug === 'far'),
    false,
  );
});

test('a curl command becomes a tool, and its credentials secrets bound to its host', async () => {
  page.answer = (request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ url: request.url, auth: request.headers.authorization?.length }));
  const command = `curl '${page.url}/search?q=first&limit=5' -H 'Authorization: Bearer curl-token-12345'`;
  const { value } = await call('catalog_import_curl', { command, bundle: 'pasted', slug: 'search' });
  assert.deepEqual([value.tool, value.secrets], ['search', ['PASTED_AUTHORIZATION']]);
  assert.deepEqual((await call('pasted_search', { q: 'second' })).value, {
    url: '/search?q=second&limit=5',
    auth: 'Bearer curl-token-12345'.length,
  });
  const { secrets } = (await call('secret_list', {})).value;
  assert.deepEqual(secrets.find((each: { name: string }) => each.name === 'PASTED_AUTHORIZATION').hosts, [page.host]);
  assert.equal(
    (await call('catalog_import_curl', { command: 'curl https://far.example.org', bundle: 'pasted' })).error.code,
    'host.not_allowed',
  );
  assert.equal(
    (await call('catalog_import_curl', { command: 'rm -rf /', bundle: 'pasted' })).error.code,
    'import.invalid',
  );
});

test('a second command never takes the secret of the first, and shares one that is the same', async () => {
  page.answer = (request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(request.headers.authorization?.endsWith('-of-the-first')));
  const take = async (slug: string, token: string) =>
    (
      await call('catalog_import_curl', {
        command: `curl '${page.url}/${slug}' -H 'Authorization: Bearer ${token}'`,
        bundle: 'shared',
        slug,
      })
    ).value.secrets;
  assert.deepEqual(await take('first', 'token-of-the-first'), ['SHARED_AUTHORIZATION']);
  assert.deepEqual(await take('second', 'token-of-the-second'), ['SHARED_AUTHORIZATION_2']);
  assert.deepEqual(await take('third', 'token-of-the-first'), ['SHARED_AUTHORIZATION']);
  assert.deepEqual(
    [
      (await call('shared_first', {})).value,
      (await call('shared_second', {})).value,
      (await call('shared_third', {})).value,
    ],
    [true, false, true],
  );
  // The host of a later command is added to those that the secret may go to already.
  await call('secret_set', { name: 'SHARED_TOKEN', value: 'token-of-elsewhere', hosts: ['elsewhere.example.org'] });
  const command = `curl '${page.url}/fourth?token=token-of-elsewhere'`;
  await call('catalog_import_curl', { command, bundle: 'shared', slug: 'fourth' });
  const { secrets } = (await call('secret_list', {})).value;
  assert.deepEqual(secrets.find((each: { name: string }) => each.name === 'SHARED_TOKEN').hosts, [
    'elsewhere.example.org',
    page.host,
  ]);
});
