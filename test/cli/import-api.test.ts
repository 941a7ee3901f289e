import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { lookup } from 'node:dns/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { testServer, type TestServer as Api } from '../http/testbed.ts';
import { oubliette, startTestServer, type TestServer } from '../kit/running-server.ts';

let api: Api;
let server: TestServer;
let scratch: string;
before(async () => {
  api = await testServer((request, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(request.url === '/openapi.yaml' ? yaml() : JSON.stringify(request.url)),
  );
  server = await startTestServer();
  scratch = await mkdtemp(join(tmpdir(), 'oub-import-'));
});
after(async () => {
  await server.stop();
  api.close();
  await rm(scratch, { recursive: true, force: true });
});
const cli = (args: string[], input = '') => oubliette(args, { env: { OUBLIETTE_HOME: server.home }, input });
const yaml = (): string => `openapi: 3.0.0
info: { title: Small, version: '1' }
paths:
  /a/{id}:
    get: { operationId: getA, parameters: [{ name: id, in: path, required: true, schema: { type: string } }] }
    trace: {}
`;

test('a document by its address becomes a bundle, its hosts allowed on demand', async () => {
  const source = `${api.url}/openapi.yaml`;
  const refused = await cli(['import', 'openapi', source]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, new RegExp(`--allow-hosts.*${api.host}`, 's'));
  const made = await cli(['import', 'openapi', source, '--allow-hosts', '--bundle', 'little', '--json']);
  assert.equal(made.code, 0, made.err);
  assert.deepEqual(
    [made.json.bundle, made.json.tools_created, made.json.not_imported],
    ['little', 1, [{ operation: 'TRACE /a/{id}', reason: 'TRACE cannot be sent' }]],
  );
  assert.match(await readFile(join(server.home, 'config.yaml'), 'utf8'), new RegExp(api.host));
  assert.equal(
    (await cli(['call', 'little_get_a', '{"id":"x y"}', '--json'])).json.value ??
      (await cli(['call', 'little_get_a', '{"id":"x y"}'])).out.trim(),
    '/a/x%20y',
  );
  assert.equal((await cli(['import', 'openapi', source, '--bundle', 'little'])).code, 1);
  assert.match(
    (await cli(['import', 'openapi', source, '--bundle', 'little', '--conflict', 'skip'])).out,
    /1 were there already/,
  );
});

test('a large document is stored whole, all or nothing, and says that it takes a while', async () => {
  const paths = Object.fromEntries(
    Array.from({ length: 600 }, (_, n) => [
      `/r${n}/{id}`,
      { get: { operationId: `read-${n}`, description: `number ${n}` } },
    ]),
  );
  const document = { openapi: '3.0.0', info: { title: 'Large', version: '1' }, servers: [{ url: api.url }], paths };
  const file = join(scratch, 'large.json');
  await writeFile(file, JSON.stringify(document));
  const made = await cli(['import', 'openapi', file, '--allow-hosts', '--json']);
  assert.equal(made.code, 0, made.err);
  assert.match(made.err, /Storing 600 tools in large/);
  assert.equal(made.json.tools_created, 600);
  const page = await (await server.fetch('/tools/tools/search?q=read-599')).json();
  assert.equal((page as { tools: { slug: string }[] }).tools[0]?.slug, 'read-599');
  await writeFile(
    file,
    JSON.stringify({ ...document, paths: { '/new': { get: { operationId: 'zebrafish' } }, ...paths } }),
  );
  const again = await cli(['import', 'openapi', file]);
  assert.equal(again.code, 1);
  const left = await (await server.fetch('/tools/tools/search?q=zebrafish')).json();
  assert.deepEqual((left as { tools: unknown[] }).tools, []);
});

test('a document from a file or from standard input is only looked at with --dry-run', async () => {
  const file = join(scratch, 'small.yaml');
  await writeFile(file, yaml());
  const dry = await cli(['import', 'openapi', file, '--base-url', 'https://far.example.org', '--dry-run']);
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.out, /Would import 1 of 2 operations into small\./);
  assert.match((await cli(['import', 'openapi', '-', '--dry-run'], yaml())).out, /no host/);
});

test('a document is fetched from whoever the typed name leads to, this machine included', async () => {
  // Most machines know themselves by their own name; on others there is only the usual one.
  const isMe = await lookup(hostname()).then(
    ({ address }) => address.startsWith('127.'),
    () => false,
  );
  const source = `http://${isMe ? hostname() : 'localhost'}:${api.port}/openapi.yaml`;
  const dry = await cli(['import', 'openapi', source, '--dry-run', '--json']);
  assert.equal(dry.json.imported, 1, dry.err);
});

test('a curl command that is only looked at allows no host', async () => {
  const dry = await cli([
    'import',
    'curl',
    'curl https://far.example.org',
    '--bundle',
    'far',
    '--allow-hosts',
    '--dry-run',
  ]);
  assert.equal(dry.code, 0, dry.err);
  const config = await readFile(join(server.home, 'config.yaml'), 'utf8').catch(() => '');
  assert.doesNotMatch(config, /far\.example\.org/);
});

test('a curl command becomes a tool', async () => {
  const made = await cli([
    'import',
    'curl',
    `curl '${api.url}/items?limit=5' -H 'X-Api-Key: 123456789'`,
    '--bundle',
    'pasted',
    '--slug',
    'items',
    '--allow-hosts',
  ]);
  assert.equal(made.code, 0, made.err);
  assert.match(made.out, /Made pasted\/items\.\n {2}uses the secret PASTED_X_API_KEY/);
  assert.match((await cli(['call', 'pasted_items', '{}'])).out, /\/items\?limit=5/);
});

test('what cannot be read ends with a reason and the right exit code', async () => {
  assert.equal((await cli(['import', 'openapi'])).code, 2);
  assert.equal((await cli(['import', 'curl', 'curl x'])).code, 2);
  assert.equal((await cli(['import', 'openapi', join(scratch, 'nowhere.json')])).code, 2);
  const nonsense = await cli(['import', 'openapi', '-'], 'hello');
  assert.deepEqual([nonsense.code, /cannot be imported/.test(nonsense.err)], [1, true]);
  const unreachable = await cli(['import', 'openapi', 'http://127.0.0.1:1/x']);
  assert.equal(unreachable.code, 1);
  assert.doesNotMatch(unreachable.err, /at .*\.ts:/);
});
