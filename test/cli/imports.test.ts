import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { oubliette, startTestServer, type TestServer } from '../kit/running-server.ts';

let api: Server;
let host: string;
let server: TestServer;
let scratch: string;
before(async () => {
  api = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      request.url === '/openapi.json'
        ? JSON.stringify(document())
        : JSON.stringify({ path: request.url, auth: request.headers.authorization ?? null }),
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => api.once('listening', resolve));
  host = `127.0.0.1:${(api.address() as AddressInfo).port}`;
  scratch = await mkdtemp(join(tmpdir(), 'oub-imports-'));
  const home = join(scratch, 'home');
  await mkdir(home);
  await writeFile(join(home, 'config.yaml'), `version: 1\nallowedHosts: ["${host}"]\n`);
  server = await startTestServer({ home });
});
after(async () => {
  await server.stop();
  api.close();
  await rm(scratch, { recursive: true, force: true });
});
const cli = (args: string[], input?: string) => oubliette(args, { env: { OUBLIETTE_HOME: server.home }, input });
const document = () => ({
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: `http://${host}` }],
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        summary: 'One pet',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { 200: { description: 'a pet' } },
      },
    },
  },
});

test('an OpenAPI document becomes tools that can be called', async () => {
  const file = join(scratch, 'pets.json');
  await writeFile(file, JSON.stringify(document()));
  const dry = await cli(['import', 'openapi', file, '--bundle', 'pets', '--dry-run']);
  assert.equal(dry.out, 'Would import 1 of 1 operations into pets.\n', dry.err);
  assert.equal(
    (await cli(['import', 'openapi', file, '--bundle', 'pets'])).out,
    'Imported 1 of 1 operations into pets.\n',
  );
  const { tools } = (await cli(['tools', '--bundle', 'pets', '--json'])).json as { tools: { name: string }[] };
  assert.equal(tools.length, 1);
  const called = await cli(['call', tools[0]!.name, '{"id":"7"}', '--json']);
  assert.equal(called.json.value.path, '/pets/7', called.out);
  assert.equal((await cli(['import', 'openapi', file, '--bundle', 'pets'])).code, 1, 'twice is a conflict');
  const fromUrl = await cli([
    'import',
    'openapi',
    `http://${host}/openapi.json`,
    '--bundle',
    'pets',
    '--conflict',
    'skip',
    '--json',
  ]);
  assert.equal(fromUrl.json.tools_skipped, 1, fromUrl.err);
});

test('a curl command becomes a tool, and its credentials a secret', async () => {
  const command = `curl -H 'Authorization: Bearer sk-very-secret-value' http://${host}/items?limit=5`;
  const made = await cli(['import', 'curl', command, '--bundle', 'items', '--slug', 'list', '--json']);
  assert.equal(made.code, 0, made.err);
  assert.ok(made.json.secrets.length === 1);
  assert.ok(!made.out.includes('sk-very-secret-value'));
  const called = await cli(['call', 'items_list', '{}', '--json']);
  assert.match(called.json.value.path, /limit=5/);
});

test('what is no document is said so', async () => {
  const file = join(scratch, 'bad.json');
  await writeFile(file, '{"hello":"there"}');
  const refused = await cli(['import', 'openapi', file]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /cannot be imported/);
  assert.equal((await cli(['import', 'openapi', '/does/not/exist'])).code, 2);
  assert.equal((await cli(['import', 'curl', 'curl http://x'])).code, 2, '--bundle is missing');
  assert.equal((await cli(['import', 'curl', 'wget http://x', '--bundle', 'x'])).code, 1);
});
