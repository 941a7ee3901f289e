import assert from 'node:assert/strict';
import fs from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { v7 } from 'uuid';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

describe('the catalog on disk', () => {
  let server: TestServer;
  before(async () => (server = await testServer()));
  after(() => server.remove());

  const fileOf = async (bundleID: string, slug: string): Promise<string> => {
    const folder = join(server.home, 'catalog', bundleID);
    const name = (await readdir(folder)).find((each) => each.startsWith(`tool-${slug}.`));
    return join(folder, name ?? 'none');
  };
  const restart = async (): Promise<void> => {
    await server.close();
    server = await testServer({ home: server.home });
  };

  it('is flat JSON, one folder per bundle and one file per version, private to the user', async () => {
    const bundle = await makeBundle(server, 'disk');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const stored = JSON.parse(await readFile(await fileOf(bundle.id, 't'), 'utf8'));
    assert.deepEqual([stored.slug, stored.version, stored.name], ['t', 'v1', 'disk_t']);
    const folder = join(server.home, 'catalog', bundle.id);
    for (const path of [server.home, folder, join(folder, 'bundle.json'), await fileOf(bundle.id, 't')])
      assert.equal((await stat(path)).mode & 0o077, 0, path);
    const left = (await readdir(join(server.home, 'catalog'), { recursive: true })).filter((name) =>
      name.endsWith('.tmp'),
    );
    assert.deepEqual(left, []);
  });

  it('survives a restart, switches of built-ins too', async () => {
    const bundle = await makeBundle(server, 'kept');
    const made = await server.ask('PUT', bundle.tool('t'), toolBody({ tags: ['x'] }));
    await server.ask('PATCH', bundle.tool('t'), { isEnabled: false });
    const demo = (await server.ask('GET', '/tools/bundles')).body.bundles.find((each: any) => each.slug === 'demo');
    await server.ask('PATCH', `/tools/bundles/${demo.id}/tools/bar/version/v1`, { isEnabled: false });
    await restart();
    assert.deepEqual((await server.ask('GET', bundle.tool('t'))).body, { ...made.body, isEnabled: false });
    assert.equal((await server.ask('GET', `/tools/bundles/${demo.id}/tools/bar/version/v1`)).body.isEnabled, false);
    await server.ask('PATCH', `/tools/bundles/${demo.id}/tools/bar/version/v1`, { isEnabled: true });
    await restart();
    assert.equal((await server.ask('GET', `/tools/bundles/${demo.id}/tools/bar/version/v1`)).body.isEnabled, true);
    await server.ask('PATCH', `/tools/bundles/${demo.id}`, { isEnabled: false });
    await restart();
    const hidden = await server.ask('GET', `/tools/bundles?includeDisabled=true&bundleIDs=${demo.id}`);
    assert.equal(hidden.body.bundles[0].isEnabled, false);
    await server.ask('PATCH', `/tools/bundles/${demo.id}`, { isEnabled: true });
  });

  it('sees changes made by hand: a file that is edited, added, renamed away or deleted', async () => {
    const bundle = await makeBundle(server, 'by-hand');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const path = await fileOf(bundle.id, 't');
    const stored = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...stored, displayName: 'By hand' }));
    await until(async () => (await server.ask('GET', bundle.tool('t'))).body.displayName === 'By hand');
    await rm(path);
    await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 404);
    await writeFile(path, JSON.stringify(stored));
    await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 200);
    const folder = join(server.home, 'catalog', bundle.id);
    await rename(folder, `${folder}-away`);
    await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 404);
    await rename(`${folder}-away`, folder);
    await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 200);
  });

  it('sees bundles made and removed by hand where the system cannot watch any folder', async () => {
    await server.close();
    const { watch } = fs;
    fs.watch = () => {
      throw Object.assign(new Error('no more watches'), { code: 'ENOSPC' });
    };
    syncBuiltinESMExports();
    try {
      server = await testServer({ home: server.home });
      const bundle = await makeBundle(server, 'unwatched');
      await server.ask('PUT', bundle.tool('t'), toolBody());
      const folder = join(server.home, 'catalog', bundle.id);
      await rename(folder, `${folder}-away`);
      await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 404);
      await rename(`${folder}-away`, folder);
      await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 200);
      fs.watch = watch;
      syncBuiltinESMExports();
      await rm(folder, { recursive: true });
      await until(async () => (await server.ask('GET', bundle.tool('t'))).status === 404);
    } finally {
      fs.watch = watch;
      syncBuiltinESMExports();
    }
  });

  it('sees what was edited by hand while it was down', async () => {
    const bundle = await makeBundle(server, 'down');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const path = await fileOf(bundle.id, 't');
    await server.close();
    await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), displayName: 'Meanwhile' }));
    server = await testServer({ home: server.home });
    await until(async () => (await server.ask('GET', bundle.tool('t'))).body.displayName === 'Meanwhile');
  });

  it('reports a damaged file, names it in the answer, and hides nothing else', async () => {
    const bundle = await makeBundle(server, 'damaged');
    await server.ask('PUT', bundle.tool('bad'), toolBody());
    await server.ask('PUT', bundle.tool('good'), toolBody());
    await writeFile(await fileOf(bundle.id, 'bad'), '{"half":');
    await until(async () => (await server.ask('GET', bundle.tool('bad'))).body.error?.code === 'tool.corrupt');
    assert.equal((await server.ask('GET', bundle.tool('bad'))).status, 409);
    assert.equal((await server.ask('GET', bundle.tool('good'))).status, 200);
    const listed = (await server.ask('GET', `/tools/tools?bundleIDs=${bundle.id}`)).body.tools;
    assert.deepEqual(
      listed.map((each: any) => each.slug),
      ['good'],
    );
    assert.equal((await server.ask('PUT', bundle.tool('bad'), toolBody())).body.error.code, 'tool.corrupt');
    await restart();
    assert.equal((await server.ask('GET', bundle.tool('bad'))).body.error.code, 'tool.corrupt');
    assert.equal((await server.ask('DELETE', bundle.tool('bad'))).status, 204, 'it can be deleted');
    assert.equal((await server.ask('GET', bundle.tool('bad'))).status, 404);
  });

  it('reports a file that is there and cannot be read', { skip: process.platform !== 'linux' }, async () => {
    const bundle = await makeBundle(server, 'unreadable');
    await server.ask('PUT', bundle.tool('good'), toolBody());
    await server.ask('PUT', bundle.tool('bad'), toolBody());
    const path = await fileOf(bundle.id, 'bad');
    await server.close();
    // Nothing is remembered of it, and not even the superuser can read it.
    await rm(join(server.home, 'run'), { recursive: true });
    await rm(path);
    await symlink('/proc/self/mem', path);
    server = await testServer({ home: server.home });
    const { status, body } = await server.ask('GET', bundle.tool('bad'));
    assert.deepEqual([status, body.error.code], [409, 'tool.corrupt']);
    assert.equal((await server.ask('GET', bundle.tool('good'))).status, 200);
    assert.equal((await server.ask('GET', '/tools/export')).body.error.code, 'tool.corrupt');
    await server.ask('DELETE', bundle.tool('bad'));
    assert.equal((await server.ask('PUT', bundle.tool('bad'), toolBody())).status, 201);
  });

  it('takes no file for a tool or a bundle that it does not belong to', async () => {
    const [mine, other] = [await makeBundle(server, 'in-place'), await makeBundle(server, 'out-of-place')];
    for (const slug of ['t', 'u']) await server.ask('PUT', mine.tool(slug), toolBody());
    await server.ask('PUT', other.tool('t'), toolBody());
    const stray = v7();
    await mkdir(join(server.home, 'catalog', stray));
    await copyFile(
      join(server.home, 'catalog', mine.id, 'bundle.json'),
      join(server.home, 'catalog', stray, 'bundle.json'),
    );
    await copyFile(await fileOf(mine.id, 't'), await fileOf(other.id, 't'));
    await copyFile(await fileOf(mine.id, 't'), await fileOf(mine.id, 'u'));
    for (const [tool, reason] of [
      [other.tool('t'), `it says it belongs to bundle ${mine.id}`],
      [mine.tool('u'), 'it says it is t version v1, which lies in another file'],
    ] as const)
      await until(async () => {
        const { error } = (await server.ask('GET', tool)).body;
        return error?.code === 'tool.corrupt' && error.message.includes(reason);
      });
    assert.equal((await server.ask('GET', mine.tool('t'))).status, 200);
    const { bundles } = (await server.ask('GET', `/tools/bundles?bundleIDs=${stray},${mine.id}`)).body;
    assert.deepEqual(
      bundles.map((each: any) => each.id),
      [mine.id],
    );
  });

  it('shows a tool whose function is gone as disabled, leaves its file alone, and heals itself', async () => {
    const bundle = await makeBundle(server, 'vanished');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const path = await fileOf(bundle.id, 't');
    const good = await readFile(path, 'utf8');
    const broken = good.replace('demo.foo', 'demo.never');
    await writeFile(path, broken);
    await until(async () => (await server.ask('GET', bundle.tool('t'))).body.isEnabled === false);
    const { body } = await server.ask('GET', bundle.tool('t'));
    assert.match(body.disabledReason, /demo\.never/);
    assert.equal(
      (await server.ask('POST', `${bundle.tool('t')}/invoke`, { args: { text: 'x' } })).body.error.code,
      'tool.disabled',
    );
    assert.ok(!(await server.ask('GET', `/tools/tools?bundleIDs=${bundle.id}`)).body.tools.length);
    assert.equal(await readFile(path, 'utf8'), broken);
    await writeFile(path, good);
    await until(async () => (await server.ask('GET', bundle.tool('t'))).body.isEnabled === true);
  });

  it('fills a page of hits past those whose function is gone', async () => {
    const bundle = await makeBundle(server, 'many-gone');
    await server.ask('PUT', bundle.tool('quokka'), toolBody());
    const gone = ['quokka-1', 'quokka-2', 'quokka-3', 'quokka-4'];
    for (const slug of gone) {
      await server.ask('PUT', bundle.tool(slug), toolBody());
      const path = await fileOf(bundle.id, slug);
      await writeFile(path, (await readFile(path, 'utf8')).replace('demo.foo', 'demo.never'));
    }
    for (const slug of gone)
      await until(async () => (await server.ask('GET', bundle.tool(slug))).body.isEnabled === false);
    const { tools } = (await server.ask('GET', '/tools/tools/search?q=quokka&pageSize=1')).body;
    assert.deepEqual(
      tools.map((each: any) => each.slug),
      ['quokka'],
    );
  });

  it('shows nothing of a file that a killed writer had not put in its place, and clears it away after a while', async () => {
    const bundle = await makeBundle(server, 'half');
    const drafts = join(server.home, 'catalog', '.drafts');
    await writeFile(join(drafts, '.young.tmp'), '{"slug": "ha');
    await writeFile(join(drafts, '.old.tmp'), '{"slug": "ha');
    const before = new Date(Date.now() - 2 * 3600_000);
    await utimes(join(drafts, '.old.tmp'), before, before);
    await restart();
    assert.deepEqual((await server.ask('GET', `/tools/tools?bundleIDs=${bundle.id}`)).body.tools, []);
    await until(async () => (await readdir(drafts)).length === 1);
    assert.deepEqual(await readdir(drafts), ['.young.tmp']);
    assert.equal((await server.ask('PUT', bundle.tool('half'), toolBody())).status, 201);
    await rm(join(drafts, '.young.tmp'));
  });

  it('lists a bundle that was copied by hand to its end, each tool once', async () => {
    const origin = await makeBundle(server, 'origin');
    for (const slug of ['a', 'b', 'c']) await server.ask('PUT', origin.tool(slug), toolBody({ tags: ['copied'] }));
    const id = v7();
    const [from, to] = [join(server.home, 'catalog', origin.id), join(server.home, 'catalog', id)];
    const texts = await Promise.all(
      (await readdir(from)).map(async (name) => [name, await readFile(join(from, name), 'utf8')] as const),
    );
    await mkdir(to);
    for (const [name, text] of texts)
      await writeFile(join(to, name), text.replaceAll(origin.id, id).replace('"slug": "origin"', '"slug": "copy"'));
    const page = async (token: string): Promise<any> =>
      (await server.ask('GET', `/tools/tools?tags=copied&recommendedPageSize=1${token && `&pageToken=${token}`}`)).body;
    await until(async () => (await server.ask('GET', '/tools/tools?tags=copied')).body.tools.length === 6);
    const met: string[] = [];
    for (let token = ''; met.length < 10;) {
      const { tools, nextPageToken } = await page(token);
      met.push(...tools.map((tool: any) => `${tool.bundleSlug}/${tool.slug}`));
      if (!(token = nextPageToken ?? '')) break;
    }
    assert.deepEqual(met.toSorted(), ['copy/a', 'copy/b', 'copy/c', 'origin/a', 'origin/b', 'origin/c']);
  });

  it('reaps a bundle two days after its deletion, if its folder is still empty', async () => {
    const old = await makeBundle(server, 'old');
    const fresh = await makeBundle(server, 'fresh');
    const revived = await makeBundle(server, 'revived');
    const notEmpty = await makeBundle(server, 'not-empty');
    const all = [old, fresh, revived, notEmpty];
    for (const each of all) await server.ask('DELETE', each.path);
    await server.ask('PUT', revived.path, { slug: 'revived', displayName: 'x', isEnabled: true });
    await server.close();
    const folder = (id: string): string => join(server.home, 'catalog', id);
    for (const { id } of all) {
      const path = join(folder(id), 'bundle.json');
      const stored = JSON.parse(await readFile(path, 'utf8'));
      // The fresh one comes of age ten minutes from now.
      const deletedAt = Date.now() - 48 * 3600_000 + (id === fresh.id ? 600_000 : 0);
      if (stored.softDeletedAt) stored.softDeletedAt = new Date(deletedAt).toISOString();
      await writeFile(path, JSON.stringify(stored));
    }
    await writeFile(join(folder(old.id), '.stray.tmp'), 'x');
    await mkdir(join(folder(notEmpty.id), 'something'));
    server = await testServer({ home: server.home });
    const there = await readdir(join(server.home, 'catalog'));
    assert.ok(!there.includes(old.id), 'stray temp files do not count');
    for (const { id } of [fresh, revived, notEmpty]) assert.ok(there.includes(id));
  });
});
