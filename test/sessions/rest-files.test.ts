import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { until } from '../kit/until.ts';
import { openRestPlace } from './rest-place.ts';

const { server, project, writer, reader, outsider, value } = await openRestPlace();

describe('files of a workspace over REST', () => {
  const files = (path: string): string => `${server.url}/workspaces/${project.default_workspace_id}/files${path}`;
  const send = (method: string, path: string, body?: string | Uint8Array, token = writer): Promise<Response> =>
    fetch(files(path), {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: body as string }),
    });

  /** Sent as written: a browser would tidy the path up. */
  const rawStatus = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const url = new URL(server.url);
      request(
        {
          host: url.hostname,
          port: url.port,
          path: `/workspaces/${project.default_workspace_id}/files${path}`,
          headers: { authorization: `Bearer ${writer}` },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode!);
        },
      )
        .on('error', reject)
        .end();
    });

  test('go in and out as raw bytes', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    assert.equal((await send('PUT', '/deep/er/a b.bin', bytes)).status, 201);
    assert.equal((await send('PUT', '/deep/er/a b.bin', bytes)).status, 200);
    const back = await send('GET', '/deep/er/a b.bin');
    assert.deepEqual(new Uint8Array(await back.arrayBuffer()), bytes);
    const list: any = await (await send('GET', '/deep')).json();
    assert.deepEqual(
      list.entries.map((entry: any) => [entry.name, entry.type]),
      [['er', 'folder']],
    );
    const tar = await send('GET', '/?archive=tar');
    assert.ok((await tar.arrayBuffer()).byteLength > 70_000);
    assert.equal((await send('DELETE', '/deep')).status, 204);
    assert.equal((await send('GET', '/deep')).status, 404);
    assert.equal((await send('PUT', '/empty', '')).status, 201);
    assert.equal((await (await send('GET', '/empty')).arrayBuffer()).byteLength, 0);
  });

  test('outlive whoever leaves in the middle of an archive', async () => {
    await send('PUT', '/big/one', new Uint8Array(8_000_000));
    for (const kind of ['tar', 'tgz']) {
      const leaving = new AbortController();
      const answer = await fetch(files(`/?archive=${kind}`), {
        headers: { authorization: `Bearer ${writer}` },
        signal: leaving.signal,
      });
      await answer.body!.getReader().read();
      leaving.abort();
    }
    assert.equal((await send('GET', '/?archive=zip')).status, 400);
    assert.equal((await send('GET', '/big/one?archive=tar')).status, 404);
    assert.equal((await send('DELETE', '/big')).status, 204);
  });

  test('that are cut off while they come leave nothing, and no error in the log', async () => {
    const url = new URL(files('/half'));
    const half = request({
      host: url.hostname,
      port: url.port,
      path: url.pathname,
      method: 'PUT',
      headers: { authorization: `Bearer ${writer}`, 'content-length': 1000 },
    });
    half.on('error', () => {});
    half.write('abc');
    const folder = join(server.home, 'projects', project.id, 'workspaces', project.default_workspace_id);
    await until(async () => (await readdir(folder)).some((name) => name.endsWith('.tmp')));
    half.destroy();
    await until(async () => !(await readdir(folder)).some((name) => name.endsWith('.tmp')));
    assert.equal((await send('GET', '/half')).status, 404);
    const log = await readFile(join(server.home, 'logs', 'server.log'), 'utf8').catch(() => '');
    assert.doesNotMatch(log, /abortIncoming/);
  });

  test('are seen by commands inside, and links that these make lead nowhere', async () => {
    await send('PUT', '/seen.txt', 'from outside');
    const made = await value('container_exec', {
      project_id: project.id,
      command: 'cat seen.txt; ln -s /etc/passwd evil; ln -s / root; ln -s seen.txt good',
    });
    assert.equal(made.stdout, 'from outside');
    assert.equal((await send('GET', '/evil')).status, 403);
    assert.equal((await send('GET', '/root/etc/passwd')).status, 403);
    assert.equal((await send('PUT', '/root/tmp/x', 'x')).status, 403);
    assert.equal(await (await send('GET', '/good')).text(), 'from outside');
  });

  test('are refused for bad paths, low levels and foreign projects', async () => {
    assert.equal(await rawStatus('/%2e%2e/%2e%2e/state.db'), 403);
    assert.equal(await rawStatus('/../../../../state.db'), 403);
    assert.equal((await send('GET', '/..%2fx')).status, 403);
    assert.equal((await send('GET', '/a%00b')).status, 400);
    assert.equal((await send('PUT', '/', 'x')).status, 400);
    assert.equal((await send('GET', '/seen.txt', undefined, reader)).status, 403);
    assert.equal((await send('GET', '/seen.txt', undefined, outsider)).status, 404);
    assert.equal((await send('POST', '/seen.txt', 'x')).status, 405);
    assert.equal((await fetch(files('/seen.txt'))).status, 401);
  });

  test('and blobs that announce too much are refused before they are sent', async () => {
    for (const [method, url] of [
      ['PUT', files('/large')],
      ['POST', `${server.url}/blobs`],
    ] as const) {
      const headers = { authorization: `Bearer ${writer}`, 'content-length': 2 ** 28 + 1 };
      const sent = request(url, { method, headers }).on('error', () => {});
      sent.flushHeaders();
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      const { error } = JSON.parse(await text(answer));
      assert.deepEqual([answer.statusCode, error.code], [413, 'body.too_large'], url);
      sent.destroy();
    }
  });

  test('blobs come back as they were sent, to their owner only', async () => {
    const sent = await fetch(`${server.url}/blobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writer}`, 'content-type': 'image/png' },
      body: 'png',
    });
    const { blob_id, size, sha256 } = (await sent.json()) as any;
    assert.deepEqual([size, sha256.length], [3, 64]);
    const back = await fetch(`${server.url}/blobs/${blob_id}`, { headers: { authorization: `Bearer ${writer}` } });
    assert.deepEqual([await back.text(), back.headers.get('content-type')], ['png', 'image/png']);
    assert.equal(
      (await fetch(`${server.url}/blobs/${blob_id}`, { headers: { authorization: `Bearer ${outsider}` } })).status,
      404,
    );
    assert.equal(
      (await fetch(`${server.url}/blobs/..%2fstate.db`, { headers: { authorization: `Bearer ${writer}` } })).status,
      404,
    );
  });

  test('blobs are deleted by their owner, and their bytes with them', async () => {
    const ask = (method: string, path: string, token: string): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}` },
        ...(method === 'POST' && { body: 'bytes' }),
      });
    const { blob_id } = (await (await ask('POST', '/blobs', writer)).json()) as { blob_id: string };
    assert.ok((await readdir(join(server.home, 'blobs'))).includes(blob_id));
    assert.equal((await ask('DELETE', `/blobs/${blob_id}`, outsider)).status, 404);
    assert.equal((await ask('DELETE', `/blobs/${blob_id}`, reader)).status, 403);
    assert.equal((await ask('DELETE', `/blobs/${blob_id}`, writer)).status, 204);
    assert.equal((await ask('GET', `/blobs/${blob_id}`, writer)).status, 404);
    assert.equal((await ask('DELETE', `/blobs/${blob_id}`, writer)).status, 404);
    assert.ok(!(await readdir(join(server.home, 'blobs'))).includes(blob_id));
  });
});
