import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { dialler, type Dialler, type Resolve } from './dialler.ts';

const servers: Server[] = [];
const open: Dialler[] = [];
after(async () => {
  await Promise.all(open.map((each) => each.close()));
  for (const server of servers) server.close();
});

async function listen(handler: RequestListener): Promise<{ port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    handler(request, response);
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { port: (server.address() as AddressInfo).port, seen };
}

function dial(allowedHosts: string[], resolve?: Resolve): Dialler {
  const made = dialler({ settings: () => ({ allowedHosts }), ...(resolve ? { resolve } : {}) });
  open.push(made);
  return made;
}

const names =
  (table: Record<string, string[]>): Resolve =>
  (host, callback) =>
    callback(
      null,
      (table[host] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

test('reaches a listed address and hands back the answer', async () => {
  const { port } = await listen((_, response) => response.end('hello'));
  const answer = await dial([`127.0.0.1:${port}`]).fetch(`http://127.0.0.1:${port}/x?y=1`);
  assert.equal(answer.status, 200);
  assert.equal(await text(answer.body), 'hello');
});

test('no address that is not listed reaches a listener, however it is written', async () => {
  const { port, seen } = await listen((_, response) => response.end('secret'));
  const target = dial(
    ['example.org', 'evil.example', `127.0.0.1:${port + 1}`],
    names({ 'evil.example': ['127.0.0.1', '::1'] }),
  );
  const list = [
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    '[::ffff:127.0.0.1]',
    '[::1]',
    '0.0.0.0',
    'evil.example',
    'localhost.',
    '127.0.0.1.',
  ];
  for (const host of list)
    await assert.rejects(target.fetch(`http://${host}:${port}/`), code('host.not_allowed'), host);
  for (const url of [
    `http://example.org@127.0.0.1:${port}/`,
    `http://user:pass@example.org:${port}/`,
    'file:///etc/passwd',
    'ftp://example.org/',
    'nonsense',
  ])
    await assert.rejects(target.fetch(url), code('host.not_allowed'), url);
  assert.equal(seen.length, 0);
});

test('a name that changes its address between two looks is dialled only where it may be', async () => {
  const { port, seen } = await listen((_, response) => response.end('private'));
  let looks = 0;
  const rebinding: Resolve = (_host, callback) =>
    callback(null, [{ address: looks++ === 0 ? '192.0.2.1' : '127.0.0.1', family: 4 }]);
  const target = dial(['rebind.example'], rebinding);
  target.check(`http://rebind.example:${port}/`);
  rebinding('rebind.example', () => {});
  await assert.rejects(target.fetch(`http://rebind.example:${port}/`), code('host.not_allowed'));
  await assert.rejects(target.webFetch()(`http://rebind.example:${port}/`), code('host.not_allowed'));
  assert.equal(seen.length, 0);
});

test('of several addresses only the allowed ones are tried', async () => {
  const { port } = await listen((_, response) => response.end('ok'));
  const target = dial(['api.example', '127.0.0.1'], names({ 'api.example': ['10.9.9.9', '127.0.0.1'] }));
  const answer = await target.fetch(`http://api.example:${port}/`);
  assert.equal(await text(answer.body), 'ok');
});

test('follows five redirects and no sixth', async () => {
  const { port, seen } = await listen((request, response) => {
    const left = Number(request.url!.slice(1));
    if (left === 0) return response.end('there');
    response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const target = dial([`127.0.0.1:${port}`]);
  assert.equal(await text((await target.fetch(`http://127.0.0.1:${port}/5`)).body), 'there');
  const before = seen.length;
  await assert.rejects(target.fetch(`http://127.0.0.1:${port}/6`), code('tool.failed'));
  assert.equal(seen.length - before, 6);
  await assert.rejects(target.webFetch()(`http://127.0.0.1:${port}/6`), code('tool.failed'));
});

test('a redirect is asked for as its status says, and a body that it leaves behind takes its headers along', async () => {
  let asked: unknown[] = [];
  const { port } = await listen(async (request, response) => {
    const status = Number(request.url!.slice(1));
    if (status > 0) return response.writeHead(status, { location: '/0' }).end();
    asked = [request.method, request.headers['content-type'], request.headers['x-kept'], await text(request)];
    response.end();
  });
  const target = dial(['127.0.0.1']);
  for (const [status, method, then] of [
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'DELETE', 'DELETE'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
  ] as const) {
    const init = { method, body: 'b', headers: { 'Content-Type': 'text/plain', 'x-kept': 'k' } };
    await text((await target.fetch(`http://127.0.0.1:${port}/${status}`, init)).body);
    const rest = then === method ? ['text/plain', 'k', 'b'] : [undefined, 'k', ''];
    assert.deepEqual(asked, [then, ...rest], `${method} ${status}`);
  }
});

test('a private address that is written out is refused before it is dialled, also where every host is listed', async () => {
  const target = dial(['*']);
  for (const host of ['127.0.0.1', '10.0.0.1', '[::1]', '[::ffff:10.0.0.1]'])
    assert.throws(() => target.check(`http://${host}/`), code('host.not_allowed'), host);
  target.check('http://93.184.216.34/');
});

test('a redirect to a host that is not listed is refused before anything is sent there', async () => {
  const hidden = await listen((_, response) => response.end('private'));
  const { port } = await listen((_, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${hidden.port}/` }).end(),
  );
  const target = dial([`127.0.0.1:${port}`]);
  await assert.rejects(target.fetch(`http://127.0.0.1:${port}/`), code('host.not_allowed'));
  await assert.rejects(target.webFetch()(`http://127.0.0.1:${port}/`), code('host.not_allowed'));
  assert.equal(hidden.seen.length, 0);
});

test('credentials stay behind when a redirect leads to another origin, and stay when it does not', async () => {
  const other = await listen((_, response) => response.end('other'));
  const first = await listen((request, response) => {
    if (request.url === '/same') return response.writeHead(307, { location: '/end' }).end();
    if (request.url === '/end') return response.end('end');
    response.writeHead(307, { location: `http://127.0.0.1:${other.port}/` }).end();
  });
  const target = dial(['127.0.0.1']);
  const init = {
    method: 'POST',
    body: 'b',
    headers: { Authorization: 'Bearer x', 'X-Key': 'k', cookie: 'c=1', accept: 'text/plain' },
  };
  await text((await target.fetch(`http://127.0.0.1:${first.port}/away`, init, { credentialHeaders: ['x-key'] })).body);
  const headers = other.seen[0]!.headers;
  assert.deepEqual(
    [headers.authorization, headers['x-key'], headers.cookie, headers.accept],
    [undefined, undefined, undefined, 'text/plain'],
  );
  assert.equal(other.seen[0]!.method, 'POST');
  await text((await target.fetch(`http://127.0.0.1:${first.port}/same`, init, { credentialHeaders: ['x-key'] })).body);
  assert.equal(first.seen.at(-1)!.headers['x-key'], 'k');
  await assert.rejects(
    target.fetch(`http://127.0.0.1:${first.port}/away`, init, { hasSecretBody: true }),
    code('host.not_allowed'),
  );
  assert.equal(other.seen.length, 1);
});

test('an entry of the policy counts for that request alone, also for kept connections', async () => {
  const { port, seen } = await listen((_, response) => response.end('ok'));
  const target = dial([]);
  const url = `http://127.0.0.1:${port}/`;
  await text((await target.fetch(url, {}, { allow: ['127.0.0.1'] })).body);
  await assert.rejects(target.fetch(url), code('host.not_allowed'));
  assert.equal(seen.length, 1);
});

test('a changed list counts for the next request', async () => {
  const { port } = await listen((_, response) => response.end('ok'));
  let allowedHosts = ['127.0.0.1'];
  const target = dialler({ settings: () => ({ allowedHosts }) });
  open.push(target);
  await text((await target.fetch(`http://127.0.0.1:${port}/`)).body);
  allowedHosts = ['example.org'];
  await assert.rejects(target.fetch(`http://127.0.0.1:${port}/`), code('host.not_allowed'));
});

test('the standard fetch streams and speaks to listed hosts', async () => {
  const { port } = await listen((request, response) => {
    response.write(`${request.method} ${request.headers['x-a']} `);
    request.pipe(response);
  });
  const fetch = dial([`127.0.0.1:${port}`]).webFetch();
  const answer = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: new Headers({ 'x-a': '1' }),
    body: 'body',
  });
  assert.equal(await answer.text(), 'POST 1 body');
});
