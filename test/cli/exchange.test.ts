import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { strFromU8, strToU8, unzipSync, zipSync, type Zippable } from 'fflate';
import { oubliette, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';
import type { Detail } from '../../src/schema/index.ts';

let from: TestServer;
let to: TestServer;
let scratch: string;
before(async () => {
  [from, to] = await Promise.all([startTestServer(), startTestServer()]);
  scratch = await mkdtemp(join(tmpdir(), 'oub-exchange-'));
});
after(async () => {
  await Promise.all([from.stop(), to.stop()]);
  await rm(scratch, { recursive: true, force: true });
});
const cli = (server: TestServer, ...args: string[]) => oubliette(args, { env: { OUBLIETTE_HOME: server.home } });

const shade = {
  displayName: 'Shade',
  isEnabled: true,
  type: 'function',
  functionImpl: { func: 'demo.foo' },
  argSchema: { type: 'object', properties: { text: { type: 'string' } } },
  tags: ['colour'],
};
const ids = { first: '0198c0de-0000-7000-8000-000000000001', off: '0198c0de-0000-7000-8000-000000000002' };
const put = async (server: TestServer, path: string, json: object) => {
  const response = await server.fetch(path, { method: 'PUT', json });
  assert.ok(response.ok, await response.text());
};
const slugsOf = async (server: TestServer) => {
  const { tools } = (await (
    await server.fetch('/tools/tools?includeDisabled=true&recommendedPageSize=256')
  ).json()) as {
    tools: { name: string; version: string; isBuiltIn: boolean }[];
  };
  return tools.filter((tool) => !tool.isBuiltIn).map((tool) => `${tool.name} ${tool.version}`);
};

test('bundles travel from one server to another, and twice is once', async () => {
  await put(from, `/tools/bundles/${ids.first}`, {
    slug: 'first',
    displayName: 'First',
    isEnabled: true,
    description: 'to travel',
  });
  await put(from, `/tools/bundles/${ids.off}`, { slug: 'off', displayName: 'Off', isEnabled: true });
  await put(from, `/tools/bundles/${ids.first}/tools/shade/version/v1`, shade);
  await put(from, `/tools/bundles/${ids.first}/tools/shade/version/v2`, { ...shade, isEnabled: false });
  await put(from, `/tools/bundles/${ids.off}/tools/ä-ö/version/1.0`, shade);
  await from.fetch(`/tools/bundles/${ids.off}`, { method: 'PATCH', json: { isEnabled: false } });

  const file = join(scratch, 'all.zip');
  const exported = await cli(from, 'export', '--out', file, '--json');
  assert.equal(exported.code, 0, exported.err);
  const names = Object.keys(unzipSync(await readFile(file))).sort();
  assert.deepEqual(names, [
    'first/bundle.json',
    'first/tools/shade/v1.json',
    'first/tools/shade/v2.json',
    'off/bundle.json',
    'off/tools/ä-ö/1.0.json',
    'oubliette.json',
  ]);

  const imported = await cli(to, 'import', file, '--json');
  assert.equal(imported.code, 0, imported.err);
  assert.deepEqual(imported.json, {
    bundles: { created: 2, skipped: 0 },
    tools: { created: 3, skipped: 0 },
    skipped: [],
  });
  assert.deepEqual(await slugsOf(to), await slugsOf(from));
  const { bundles } = (await (await to.fetch(`/tools/bundles?bundleIDs=${ids.off}&includeDisabled=true`)).json()) as {
    bundles: { isEnabled: boolean }[];
  };
  assert.equal(bundles[0]!.isEnabled, false, 'a bundle that was off arrives off');

  const again = await cli(to, 'import', file);
  assert.equal(again.code, 1);
  assert.match(again.err, /\/\S+ v1 exists already, so nothing was imported\. .*skip/);
  const skipped = await cli(to, 'import', file, '--conflict', 'skip', '--json');
  assert.equal(skipped.code, 1, 'a bundle that is off takes no tools, whatever the policy');
  await to.fetch(`/tools/bundles/${ids.off}`, { method: 'PATCH', json: { isEnabled: true } });
  const now = await cli(to, 'import', file, '--conflict', 'skip', '--json');
  assert.deepEqual(now.json.tools, { created: 0, skipped: 3 });
});

test('whatever could be stored comes back, however large it is', async () => {
  const id = '0198c0de-0000-7000-8000-0000000000e1';
  await put(from, `/tools/bundles/${id}`, { slug: 'large', displayName: 'Large', isEnabled: true });
  const path = (tool: string) => `/tools/bundles/${id}/tools/${tool}/version/v1`;
  const room = 4 * 2 ** 20 - JSON.stringify({ ...shade, description: '' }).length;
  await put(from, path('long'), { ...shade, description: 'x'.repeat(room) });
  let deep: unknown = Array.from({ length: 120_000 }, () => 1);
  for (let i = 0; i < 60; i++) deep = [deep];
  await put(from, path('deep'), { ...shade, argSchema: { type: 'object', default: { deep } } });
  const zip = new Uint8Array(await (await from.fetch(`/tools/export?bundleIDs=${id}`)).arrayBuffer());
  assert.equal((await importZip(to, zip)).status, 200);
  for (const tool of ['long', 'deep']) {
    const [before, after] = await Promise.all(
      [from, to].map(async (server) => (await (await server.fetch(path(tool))).json()) as Record<string, unknown>),
    );
    for (const field of ['description', 'argSchema']) assert.deepEqual(after![field], before![field]);
  }
});

test('one bundle alone, and no built-in ones', async () => {
  const file = join(scratch, 'one.zip');
  assert.equal((await cli(from, 'export', 'first', '--out', file)).code, 0);
  assert.ok(!Object.keys(unzipSync(await readFile(file))).some((name) => name.startsWith('off/')));
  const builtIn = await cli(from, 'export', 'demo', '--out', file);
  assert.equal(builtIn.code, 1);
  assert.match(builtIn.err, /cannot be exported/);
});

const importZip = (server: TestServer, files: Zippable | Uint8Array, query = '', token?: string) =>
  server.fetch(`/tools/import${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/zip' },
    body: (files instanceof Uint8Array ? files : zipSync(files)) as Uint8Array<ArrayBuffer>,
    token,
  });
const json = (value: unknown) => strToU8(JSON.stringify(value));
const bundleFile = (id: string, slug: string) => json({ id, slug, displayName: slug, isEnabled: true });

test('an import that is refused in the middle leaves nothing behind', async () => {
  const before = await slugsOf(to);
  for (const [worse, code, message] of [
    [
      json({ slug: 'worse', version: 'v1', ...shade, colour: 'unknown field' }),
      'request.invalid',
      /half\/worse v1: .*colour/,
    ],
    [strToU8('{oops'), 'import.invalid', /half\/tools\/worse\/v1\.json is not JSON/],
    [json({ version: 'v1', ...shade }), 'import.invalid', /worse\/v1\.json has no slug/],
  ] as const) {
    const response = await importZip(to, {
      'oubliette.json': json({ format: 1 }),
      'half/bundle.json': bundleFile('0198c0de-0000-7000-8000-00000000000a', 'half'),
      'half/tools/good/v1.json': json({ slug: 'good', version: 'v1', ...shade }),
      'half/tools/worse/v1.json': worse,
    });
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { code: string; message: string } };
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.deepEqual(await slugsOf(to), before);
    const { bundles } = (await (await to.fetch('/tools/bundles?includeDisabled=true&pageSize=256')).json()) as {
      bundles: { slug: string }[];
    };
    assert.ok(!bundles.some((bundle) => bundle.slug === 'half'));
  }
});

test('what the server owns cannot be brought along', async () => {
  const id = '0198c0de-0000-7000-8000-00000000000b';
  const response = await importZip(to, {
    'oubliette.json': json({ format: 1 }),
    'claims/bundle.json': bundleFile(id, 'claims'),
    'claims/tools/x/v1.json': json({
      slug: 'x',
      version: 'v1',
      ...shade,
      id: 'mine',
      isBuiltIn: true,
      createdAt: '1999-01-01T00:00:00Z',
      name: 'run',
    }),
  });
  assert.equal(response.status, 200, await response.clone().text());
  const tool = (await (await to.fetch(`/tools/bundles/${id}/tools/x/version/v1`)).json()) as Record<string, unknown>;
  assert.equal(tool['isBuiltIn'], false);
  assert.equal(tool['name'], 'claims_x');
  assert.notEqual(tool['id'], 'mine');
  assert.doesNotMatch(String(tool['createdAt']), /^1999/);
  const takenSlug = await importZip(to, {
    'oubliette.json': json({ format: 1 }),
    'demo/bundle.json': bundleFile('0198c0de-0000-7000-8000-00000000000c', 'demo'),
  });
  assert.equal(takenSlug.status, 409);
});

test('garbage, bombs and climbing paths are a clear 400, and only an admin may import', async () => {
  const good = { 'oubliette.json': json({ format: 1 }) };
  const bad: (Zippable | Uint8Array)[] = [
    strToU8('PK nonsense'),
    { ...good, '../../evil': strToU8('x') },
    { ...good, 'x/bundle.json': new Uint8Array(32 * 2 ** 20) },
  ];
  for (const files of bad) {
    const response = await importZip(to, files);
    assert.equal(response.status, 400);
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'import.invalid');
  }
  assert.equal((await importZip(to, good, '?conflict=overwrite')).status, 400);
  assert.equal((await to.fetch('/tools/import', { method: 'POST', json: {} })).status, 415);
  assert.equal((await to.fetch('/tools/import')).status, 405);
  const { token } = (await cli(to, 'token', 'create', '--name', 'w', '--scope', 'write', '--json')).json;
  for (const query of ['', '?conflict=overwrite']) assert.equal((await importZip(to, good, query, token)).status, 403);
  assert.equal(
    (await to.fetch('/tools/bundles/x', { method: 'PUT', headers: { 'content-type': 'application/zip' }, body: 'x' }))
      .status,
    415,
  );
  const unreadable = join(scratch, 'readme.txt');
  await writeFile(unreadable, 'not a zip');
  assert.equal((await cli(to, 'import', unreadable)).code, 1);
  assert.equal((await cli(to, 'import', join(scratch, 'missing.zip'))).code, 2);
});

test('an export of a narrowed token holds only what it reaches', async () => {
  const { token } = (
    await cli(from, 'token', 'create', '--name', 'n', '--scope', 'read', '--bundle', 'first', '--json')
  ).json;
  const response = await from.fetch('/tools/export', { token });
  const files = unzipSync(new Uint8Array(await response.arrayBuffer()));
  assert.deepEqual(
    Object.keys(files).filter((name) => name.endsWith('bundle.json')),
    ['first/bundle.json'],
  );
  assert.equal(JSON.parse(strFromU8(files['first/tools/shade/v1.json']!)).displayName, 'Shade');
  assert.equal((await from.fetch(`/tools/export?bundleIDs=${ids.off}`, { token })).status, 404);
});

describe('an export of what is damaged', () => {
  const damaged = { whole: '0198c0de-0000-7000-8000-0000000000d1', broken: '0198c0de-0000-7000-8000-0000000000d2' };
  let server: TestServer;
  let file: string;
  before(async () => {
    server = await startTestServer();
    for (const [slug, id] of Object.entries(damaged)) {
      await put(server, `/tools/bundles/${id}`, { slug, displayName: slug, isEnabled: true });
      for (const tool of ['one', 'two']) await put(server, `/tools/bundles/${id}/tools/${tool}/version/v1`, shade);
    }
    const folder = join(server.home, 'catalog', damaged.broken);
    file = (await readdir(folder)).find((name) => name.startsWith('tool-two'))!;
    await writeFile(join(folder, file), '{"half":');
    const isSeen = async () => (await server.fetch(`/tools/bundles/${damaged.broken}/tools/two/version/v1`)).status;
    await until(async () => (await isSeen()) === 409);
  });
  after(() => server.stop());

  test('is refused with the name of every file and its reason, by REST and by the command line', async () => {
    for (const query of ['', `?bundleIDs=${damaged.broken}`, '?damaged=fail']) {
      const response = await server.fetch(`/tools/export${query}`);
      assert.equal(response.status, 409);
      const { error } = (await response.json()) as { error: { code: string; message: string; details: Detail[] } };
      assert.equal(error.code, 'tool.corrupt');
      assert.match(error.message, /tool-two.*damaged=skip/);
      assert.deepEqual(
        error.details.map(({ path }) => path),
        [`/${damaged.broken}/${file}`],
      );
      assert.match(error.details[0]!.message, /^bundle broken: .*JSON/);
    }
    const out = join(scratch, 'refused.zip');
    const byHand = await cli(server, 'export', '--out', out);
    assert.equal(byHand.code, 1);
    assert.match(byHand.err, new RegExp(`${file}.*bundle broken`, 's'));
    await assert.rejects(readFile(out), 'nothing is written');
    assert.equal(
      (await server.fetch(`/tools/export?bundleIDs=${damaged.whole}`)).status,
      200,
      'others are not held up',
    );
    assert.equal((await server.fetch('/tools/export?damaged=maybe')).status, 400);
  });

  test('says what it leaves out when asked for the rest, and can be imported', async () => {
    const out = join(scratch, 'rest.zip');
    const { code, json: said } = await cli(server, 'export', 'broken', '--damaged', 'skip', '--out', out, '--json');
    assert.equal(code, 0);
    const files = unzipSync(await readFile(out));
    assert.deepEqual(Object.keys(files).sort(), ['broken/bundle.json', 'broken/tools/one/v1.json', 'oubliette.json']);
    const { leftOut } = JSON.parse(strFromU8(files['oubliette.json']!)) as { leftOut: { reason: string }[] };
    assert.deepEqual(leftOut, [{ bundle: 'broken', file: `${damaged.broken}/${file}`, reason: leftOut[0]!.reason }]);
    assert.deepEqual(said.leftOut, leftOut);
    const human = await cli(server, 'export', 'broken', '--damaged', 'skip', '--out', out);
    assert.match(human.out, new RegExp(`left out ${damaged.broken}/${file}`));
    const piped = await cli(server, 'export', 'broken', '--damaged', 'skip', '--out', '-');
    assert.match(piped.err, new RegExp(`left out ${damaged.broken}/${file}`));
    assert.equal((await importZip(to, await readFile(out))).status, 200);
  });

  test('tells of a damaged bundle only whoever exports everything', async () => {
    const path = join(server.home, 'catalog', damaged.whole, 'bundle.json');
    const good = await readFile(path);
    await writeFile(path, '{}');
    const list = `/tools/bundles?bundleIDs=${damaged.whole}`;
    await until(async () => ((await (await server.fetch(list)).json()) as { bundles: [] }).bundles.length === 0);
    const { error } = (await (await server.fetch('/tools/export')).json()) as { error: { details: Detail[] } };
    assert.deepEqual(error.details.map((each) => each.path).sort(), [
      `/${damaged.whole}/bundle.json`,
      `/${damaged.broken}/${file}`,
    ]);
    const narrow = (
      await cli(server, 'token', 'create', '--name', 'n', '--scope', 'read', '--bundle', 'none', '--json')
    ).json as { token: string };
    assert.equal((await server.fetch('/tools/export', { token: narrow.token })).status, 200);
    await writeFile(path, good);
  });
});
