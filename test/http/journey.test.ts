import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newUuid } from '../../src/schema/index.ts';
import { secretForms } from '../../src/store/index.ts';
import { oubliette, startTestServer, type TestServer as Server } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';
import { testServer, type TestServer } from './testbed.ts';

const canary = 'c4n4ry/Value+with "odd" ü bits';
let api: TestServer;
let hidden: TestServer;
let server: Server;
const bundle = newUuid();
/** Everything the outside saw, to be searched for the canary. */
let seenOutside = '';

before(async () => {
  api = await testServer();
  hidden = await testServer();
  server = await startTestServer();
  await writeFile(join(server.home, 'config.yaml'), `version: 1\nallowedHosts: ["${api.host}"]\n`);
  await ask('PUT', `/tools/bundles/${bundle}`, { slug: 'api', displayName: 'API', isEnabled: true });
  await until(async () => (await put('probe', { method: 'GET', urlTemplate: api.url })).status !== 400);
});
after(async () => {
  await server.stop();
  api.close();
  hidden.close();
});

async function ask(
  method: string,
  path: string,
  json?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: any; text: string }> {
  const answer = await server.fetch(path, { method, headers, ...(json !== undefined && { json }) });
  const text = await answer.text();
  seenOutside += text;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  return { status: answer.status, body, text };
}
const put = (slug: string, request: object, more: { response?: object; tool?: object } = {}) =>
  ask('PUT', `/tools/bundles/${bundle}/tools/${slug}/version/v1`, {
    displayName: slug,
    isEnabled: true,
    type: 'http',
    argSchema: { type: 'object', properties: { city: { type: 'string' } } },
    httpImpl: { request, ...(more.response && { response: more.response }) },
    ...more.tool,
  });
const invoke = (slug: string, args: object = {}, headers: Record<string, string> = {}) =>
  ask('POST', `/tools/bundles/${bundle}/tools/${slug}/version/v1/invoke`, { args }, headers);

test('a described API is called by REST with its secret, and its answer is bounded and checked', async () => {
  const set = await ask('POST', '/call/secret_set', {
    args: { name: 'WEATHER_KEY', value: canary, hosts: [api.host] },
  });
  assert.deepEqual([set.body.ok, set.body.value.name], [true, 'WEATHER_KEY']);
  api.answer = (request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ temp: 21, url: request.url }));
  const stored = await put('current', {
    method: 'GET',
    urlTemplate: `${api.url}/w/\${city}`,
    auth: { type: 'apiKey', in: 'header', name: 'X-Key', value: '${CITY_KEY}' },
  });
  assert.deepEqual([stored.status, stored.body.name, stored.body.type], [201, 'api_current', 'http']);
  assert.deepEqual((await invoke('current', { city: 'Ulm' })).body, {
    ok: false,
    error: {
      code: 'secret.missing',
      message: 'Secret CITY_KEY is not set. Set it with: oubliette secret set CITY_KEY',
      retryable: false,
    },
  });
  const ran = await oubliette(['secret', 'set', 'CITY_KEY'], { env: { OUBLIETTE_HOME: server.home }, input: canary });
  assert.equal(ran.code, 0, ran.err);
  seenOutside += ran.out + ran.err;
  assert.deepEqual((await invoke('current', { city: 'São Paulo' })).body, {
    ok: true,
    value: { temp: 21, url: '/w/S%C3%A3o%20Paulo' },
  });
  assert.deepEqual((await ask('POST', '/call/api_current', { args: { city: 'Ulm' } })).body.ok, true);
  assert.equal(Buffer.from(String(api.seen.at(-1)!.headers['x-key']), 'latin1').toString('latin1'), canary);
});

test('what is refused when a tool is stored has a code, and nothing is stored', async () => {
  const refusals: [object, string][] = [
    [{ method: 'GET', urlTemplate: 'http://elsewhere.example/' }, 'host.not_allowed'],
    [{ method: 'GET', urlTemplate: hidden.url }, 'host.not_allowed'],
    [{ method: 'GET', urlTemplate: 'http://${city}/' }, 'request.invalid'],
    [{ method: 'BREW', urlTemplate: api.url }, 'request.invalid'],
    [{ method: 'GET', urlTemplate: api.url, headers: { 'a b': 'c' } }, 'request.invalid'],
    [{ method: 'GET', urlTemplate: api.url, surprise: 1 }, 'request.invalid'],
    [{ method: 'GET', urlTemplate: api.url, timeoutMs: 70_000 }, 'request.invalid'],
    [{ method: 'GET', urlTemplate: api.url, retry: { maxTries: 9 } }, 'request.invalid'],
    [{ method: 'GET', urlTemplate: api.url, auth: { type: 'psychic' } }, 'request.invalid'],
  ];
  for (const [request, code] of refusals) {
    const answer = await put('refused', request);
    assert.deepEqual([answer.status, answer.body.error.code], [400, code], JSON.stringify(request));
  }
  assert.equal((await ask('GET', `/tools/bundles/${bundle}/tools/refused/version/v1`)).status, 404);
});

test('a server that sends its secret back in every form gives nothing away, in answers, errors or streams', async () => {
  const forms = secretForms(canary);
  api.answer = (request, response) => {
    const kind = request.url.slice(1);
    if (kind === 'fail') return response.writeHead(400).end(forms.join('\n'));
    if (kind === 'stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const form of forms) {
        response.write(`data: ${form.slice(0, 5)}`);
        response.write(`${form.slice(5).replaceAll('\n', ' ')}\n\n`);
      }
      return response.end();
    }
    if (kind === 'redirect')
      return response.writeHead(302, { location: `/json?k=${encodeURIComponent(canary)}` }).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        forms,
        nested: { [canary]: [canary, { deep: `x${canary}y` }] },
        basic: Buffer.from(`user:${canary}`).toString('base64'),
      }),
    );
  };
  for (const kind of ['json', 'fail', 'stream', 'redirect']) {
    await put(`echo-${kind}`, { method: 'GET', urlTemplate: `${api.url}/${kind}`, headers: { 'x-k': '${CITY_KEY}' } });
    for (const headers of [{}, { accept: 'text/event-stream' }])
      await invoke(`echo-${kind}`, {}, headers as Record<string, string>);
  }
  await put(
    'bad-schema',
    { method: 'GET', urlTemplate: `${api.url}/json`, headers: { 'x-k': '${CITY_KEY}' } },
    { tool: { outputSchema: { type: 'string', const: 'x' } } },
  );
  assert.equal((await invoke('bad-schema')).body.error.code, 'output.invalid');
  await ask('POST', '/call/api_current', { args: { city: canary } });
  await ask('POST', '/call/api_current', { args: { city: [canary] } });
  await ask('POST', '/call/secret_set', { args: { name: canary, value: canary } });
  await ask('POST', '/call/secret_set', { args: { name: 'X', value: canary, hosts: [canary] } });
  await ask('POST', '/call/secret_list', { args: {} });
  assert.ok(seenOutside.includes('[secret:'));
});

test('a binary answer is put aside as a blob of the same size, without the secret that was sent', async () => {
  const picture = Buffer.concat([Buffer.from([0x89, 0x50, 0, 0xff]), Buffer.from(canary), Buffer.from([0xfe, 0])]);
  for (const mimeType of ['image/png', 'application/octet-stream']) {
    api.answer = (_, response) => response.writeHead(200, { 'content-type': mimeType }).end(picture);
    const slug = `bytes-${mimeType.slice(0, 5)}`;
    await put(slug, { method: 'GET', urlTemplate: `${api.url}/picture`, headers: { 'x-key': '${WEATHER_KEY}' } });
    const [block] = (await invoke(slug)).body.value.content;
    assert.deepEqual([block.mimeType, block.size], [mimeType, picture.length]);
    const answer = await server.fetch(`/blobs/${block.blob_id}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.equal(bytes.length, picture.length);
    assert.ok(!bytes.includes('c4n4ry'), mimeType);
  }
});

test('progress of a streamed answer reaches whoever asks for a stream', async () => {
  api.answer = (_, response) =>
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('{"n":1}\n{"n":2}\n');
  await put('lines', { method: 'GET', urlTemplate: `${api.url}/lines` });
  const { text } = await invoke('lines', {}, { accept: 'text/event-stream' });
  assert.match(text, /event: progress\ndata: \{"progress":1,"message":"\{\\"n\\":1\}"\}\n\n/);
  assert.match(text, /event: result\ndata: \{"ok":true,"value":\[\{"n":1\},\{"n":2\}\]\}\n\n$/);
  assert.deepEqual((await invoke('lines')).body, { ok: true, value: [{ n: 1 }, { n: 2 }] });
});

test('limits of a tool hold: calls per minute, bytes, time; an error as empty passes any outputSchema', async () => {
  api.answer = (request, response) =>
    request.url === '/slow'
      ? undefined
      : response
          .writeHead(request.url === '/404' ? 404 : 200, { 'content-type': 'application/json' })
          .end(JSON.stringify('x'.repeat(5_000)));
  await put('few', { method: 'GET', urlTemplate: api.url }, { tool: { limits: { maxCallsPerMinute: 2 } } });
  assert.deepEqual(
    [(await invoke('few')).status, (await invoke('few')).status, (await invoke('few')).body.error?.code],
    [200, 200, 'rate.limited'],
  );
  await put('small', { method: 'GET', urlTemplate: api.url }, { tool: { limits: { maxResponseBytes: 1_000 } } });
  assert.equal((await invoke('small')).body.error.code, 'response.too_large');
  await put('slow', { method: 'GET', urlTemplate: `${api.url}/slow` }, { tool: { limits: { timeoutMs: 100 } } });
  assert.equal((await invoke('slow')).body.error.code, 'tool.timeout');
  await put(
    'empty',
    { method: 'GET', urlTemplate: `${api.url}/404` },
    { response: { errorMode: 'empty' }, tool: { outputSchema: { type: 'object' } } },
  );
  assert.deepEqual((await invoke('empty')).body, { ok: true, value: null });
});

test('only who may write calls what writes, and read reaches what reads', async () => {
  api.answer = (_, response) => response.end('{}');
  await put('look', { method: 'GET', urlTemplate: api.url });
  await put('send', { method: 'POST', urlTemplate: api.url });
  await put('raised', { method: 'GET', urlTemplate: api.url }, { tool: { access: 'admin' } });
  await put('lowered', { method: 'DELETE', urlTemplate: api.url }, { tool: { access: 'read' } });
  const { value } = (await ask('POST', '/call/token_create', { args: { name: 'reader', scope: 'read' } })).body;
  const status = async (name: string): Promise<number> =>
    (await server.fetch(`/call/api_${name}`, { method: 'POST', json: { args: {} }, token: value.token })).status;
  assert.deepEqual(
    [await status('look'), await status('send'), await status('raised'), await status('lowered')],
    [200, 403, 403, 403],
  );
  assert.equal(
    (await server.fetch('/call/secret_list', { method: 'POST', json: { args: {} }, token: value.token })).status,
    403,
  );
});

test('a pack dropped into the folder is a bundle for everyone, and its example from the command line works', async () => {
  const made = await oubliette(['pack', 'new', 'fresh-pack', '--json'], { env: { OUBLIETTE_HOME: server.home } });
  assert.equal(made.code, 0, made.err);
  await until(async () => (await ask('GET', '/tools/tools/search?q=fresh')).body.tools.length > 0);
  assert.deepEqual((await ask('POST', '/call/fresh_pack_greet', { args: { name: 'Ada' } })).body, {
    ok: true,
    value: { greeting: 'Hello, Ada!' },
  });
  const [listed] = (await ask('GET', '/tools/bundles?pageSize=256')).body.bundles.filter(
    (each: { slug: string }) => each.slug === 'fresh-pack',
  );
  assert.deepEqual([listed.kind, listed.isManaged], ['pack', true]);
  assert.equal((await ask('DELETE', `/tools/bundles/${listed.id}`)).body.error.code, 'bundle.managed');
  const other = await ask('PUT', `/tools/bundles/${bundle}/tools/borrowed/version/v1`, {
    displayName: 'b',
    isEnabled: true,
    type: 'function',
    argSchema: { type: 'object' },
    functionImpl: { func: 'fresh-pack.greet' },
  });
  assert.equal(other.status, 201);
  assert.deepEqual((await invoke('borrowed', { name: 'Bo' })).body.value, { greeting: 'Hello, Bo!' });
});

test('no listener that was not allowed was ever reached', async () => {
  const port = hidden.port;
  api.answer = (request, response) =>
    response.writeHead(302, { location: decodeURIComponent(request.url.slice(2)) }).end();
  await put('jump', { method: 'GET', urlTemplate: `${api.url}/`, query: { to: '${city}' } });
  for (const to of [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://2130706433:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:7f00:1]:${port}/`,
    `http://0x7f.1:${port}/`,
    `//127.0.0.1:${port}/`,
    `http://a@127.0.0.1:${port}/`,
  ]) {
    api.answer = (_, response) => response.writeHead(302, { location: to }).end();
    assert.equal((await invoke('jump', { city: to })).body.error.code, 'host.not_allowed', to);
  }
  assert.equal(hidden.seen.length, 0);
});

test('after all this the canary is in no answer, no file, no log and no list of processes', async () => {
  const plain = secretForms(canary);
  const found = (text: string | Buffer): string | undefined => plain.find((form) => text.includes(form));
  assert.equal(found(seenOutside), undefined);
  assert.equal(found(server.errors()), undefined);
  assert.equal(found(execFileSync('ps', ['axeww'], { maxBuffer: 64 * 1024 * 1024 })), undefined);
  const files = (await readdir(server.home, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  assert.ok(files.length > 5);
  for (const file of files) {
    const path = join(file.parentPath, file.name);
    assert.equal(found(await readFile(path)), undefined, path);
  }
});
