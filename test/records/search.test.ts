import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newUuid } from '../../src/schema/index.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

interface Found {
  name: string;
  match: { tier: string; field: string };
}

let home: string;
let server: TestServer;
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-search-'));
  server = await startTestServer({ home });
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

async function search(q: string, more = '', at = server): Promise<{ tools: Found[]; nextPageToken?: string }> {
  const answer = await at.fetch(`/tools/tools/search?q=${encodeURIComponent(q)}${more}`);
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as { tools: Found[] };
}
const hits = async (q: string, more = '', at = server): Promise<string[]> =>
  (await search(q, more, at)).tools.map((tool) => `${tool.name} ${tool.match.tier} ${tool.match.field}`);

/** The best hit; short words are near many others. */
const top = async (q: string): Promise<string | undefined> => (await hits(q))[0];

async function put(path: string, json: object, at = server): Promise<number> {
  return (await at.fetch(`/tools/bundles/${path}`, { method: 'PUT', json })).status;
}

/** A bundle of a test's own; answers its id. */
async function newBundle(slug: string): Promise<string> {
  const id = newUuid();
  assert.equal(await put(id, { slug, displayName: slug, isEnabled: true }), 201);
  return id;
}
const body = (displayName: string, more: object = {}): object => ({
  displayName,
  isEnabled: true,
  type: 'function',
  functionImpl: { func: 'demo.foo' },
  argSchema: { type: 'object' },
  ...more,
});

describe('search over REST', () => {
  test('finds a tool right after it was put, by prefix, word, typo and part of the slug', async () => {
    const bundleID = await newBundle('meteo');
    assert.equal(
      await put(
        `${bundleID}/tools/get-forecast/version/v1`,
        body('Outlook', { description: 'Rainfall tomorrow', tags: ['sky'] }),
      ),
      201,
    );
    assert.equal(await top('fore'), 'meteo_get_forecast prefix slug');
    assert.equal(await top('outl'), 'meteo_get_forecast prefix displayName');
    assert.equal(await top('rainfall'), 'meteo_get_forecast word description');
    assert.equal(await top('sky'), 'meteo_get_forecast word tags');
    assert.equal(await top('meteo'), 'meteo_get_forecast word bundleSlug');
    assert.equal(await top('rianfall'), 'meteo_get_forecast fuzzy description');
    assert.equal(await top('eca'), 'meteo_get_forecast fuzzy slug');
    assert.equal(await top('rainfal tomorow get'), 'meteo_get_forecast fuzzy description');
    assert.deepEqual(await hits('forecast nothinglikeit'), []);
  });

  test('follows switches of tools and bundles, deletions and a new slug of the bundle', async () => {
    const bundleID = await newBundle('seasons');
    await put(`${bundleID}/tools/get-monsoon/version/v1`, body('Rainy time'));
    const tool = `/tools/bundles/${bundleID}/tools/get-monsoon/version/v1`;
    const patch = (path: string, isEnabled: boolean): Promise<Response> =>
      server.fetch(path, { method: 'PATCH', json: { isEnabled } });
    await patch(tool, false);
    assert.deepEqual(await hits('monsoon'), []);
    assert.equal((await hits('monsoon', '&includeDisabled=true')).length, 1);
    await patch(tool, true);
    await patch(`/tools/bundles/${bundleID}`, false);
    assert.deepEqual(await hits('monsoon'), []);
    await patch(`/tools/bundles/${bundleID}`, true);
    assert.equal((await hits('monsoon')).length, 1);
    await put(bundleID, { slug: 'climate', displayName: 'seasons', isEnabled: true });
    assert.deepEqual(await hits('climate'), ['seasons_get_monsoon word bundleSlug']);
    assert.deepEqual(await hits('seasons'), []);
    await server.fetch(tool, { method: 'DELETE' });
    assert.deepEqual(await hits('monsoon'), []);
  });

  test('pages through all hits once, newest first', async () => {
    const bundleID = await newBundle('book');
    for (let i = 0; i < 7; i++) await put(`${bundleID}/tools/paged-${i}/version/v1`, body(`Paged ${i}`));
    const seen: string[] = [];
    let token = '';
    do {
      const page = await search('paged', `&pageSize=3${token && `&pageToken=${encodeURIComponent(token)}`}`);
      seen.push(...page.tools.map((tool) => tool.name));
      token = page.nextPageToken ?? '';
    } while (token !== '');
    assert.deepEqual(
      seen,
      [6, 5, 4, 3, 2, 1, 0].map((i) => `book_paged_${i}`),
    );
  });

  test('odd questions are answered, empty ones refused', async () => {
    for (const q of [
      '!!!',
      '\u0000',
      '😀',
      'a'.repeat(5000),
      Array.from({ length: 500 }, (_, i) => `w${i}`).join(' '),
      '%',
      '"',
      "' OR 1=1",
      '*',
      '__proto__',
    ])
      assert.equal((await server.fetch(`/tools/tools/search?q=${encodeURIComponent(q)}`)).status, 200, q.slice(0, 20));
    for (const query of ['', '?q=', '?q=%20', '?q=a&pageToken=nonsense'])
      assert.equal((await server.fetch(`/tools/tools/search${query}`)).status, 400, query);
  });

  test('what another process puts is found within two seconds', async () => {
    const bundleID = await newBundle('other-side');
    const other = await startTestServer({ home });
    try {
      await put(`${bundleID}/tools/from-elsewhere/version/v1`, body('Elsewhere'), other);
      assert.equal((await hits('elsewhere', '', other)).length, 1);
      await until(async () => (await hits('elsewhere')).length === 1, 2000);
    } finally {
      await other.stop();
    }
  });

  test('gives the same answers after its file was deleted or damaged', async () => {
    const bundleID = await newBundle('library');
    for (const slug of ['shelf-one', 'shelf-two']) await put(`${bundleID}/tools/${slug}/version/v1`, body(slug));
    const before = await hits('shelf');
    assert.equal(before.length, 2);
    for (const damage of [
      () => rm(join(home, 'index.db')),
      () => writeFile(join(home, 'index.db'), 'no database at all '.repeat(500)),
    ]) {
      await server.stop();
      await rm(join(home, 'index.db-wal'), { force: true });
      await rm(join(home, 'index.db-shm'), { force: true });
      await damage();
      server = await startTestServer({ home });
      assert.deepEqual(await hits('shelf'), before);
    }
  });
});
