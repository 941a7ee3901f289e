import assert from 'node:assert/strict';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { beforeEach, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { HttpImpl } from '../../src/schema/index.ts';
import { hasCode, openPlace, testServer, type Seen, type TestServer } from './testbed.ts';

const { server, bench, ask } = await openPlace(() => ['127.0.0.1']);
beforeEach(() => void server.seen.splice(0));

type Response = Parameters<TestServer['answer']>[1];
const json = (response: Response, value: unknown, status = 200): unknown =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
/** Answers each request with the next of these; the last one stays. */
const inTurn =
  (...answers: ((request: Seen, response: Response) => void)[]): TestServer['answer'] =>
  (request, response) =>
    (answers[Math.min(server.seen.length, answers.length) - 1] as (typeof answers)[number])(request, response);

test('answers are read as what they are', async () => {
  const value = async (contentType: string | undefined, body: string | Buffer, response?: HttpImpl['response']) => {
    server.answer = (_, to) =>
      to.writeHead(200, contentType === undefined ? {} : { 'content-type': contentType }).end(body);
    return (await ask({}, response)).value;
  };
  assert.deepEqual(await value('application/json', '{"a":[1]}'), { a: [1] });
  assert.deepEqual(await value('application/problem+json; charset=utf-8', '"x"'), 'x');
  assert.deepEqual(await value(undefined, '{"a":1}'), { a: 1 });
  assert.equal(await value('text/html', '<b>'), '<b>');
  assert.equal(await value('text/plain; charset=iso-8859-1', Buffer.from([0xe9])), 'é');
  assert.equal(await value('application/json', '{"a":1}', { encoding: 'text' }), '{"a":1}');
  assert.deepEqual(await value('text/plain', '{"a":1}', { encoding: 'json' }), { a: 1 });
  assert.equal(await value('application/json', ''), null);
  assert.equal(await value('application/json', '', { encoding: 'text' }), null);
  assert.deepEqual(await value('application/json', Buffer.from('\ufeff{"a":"é"}', 'utf16le')), { a: 'é' });
  assert.equal(await value('text/plain', Buffer.from([0xe9])), 'é', 'as old servers mean it');
  assert.equal(await value('image/svg+xml', '<svg/>'), '<svg/>');
  const picture = (await value('image/png', Buffer.from([1, 2, 3]))) as { content: unknown[] };
  assert.deepEqual(picture.content, [{ type: 'image', mimeType: 'image/png', data: 'AQID' }]);
});

test('an answer that is no text is kept as bytes, whatever it is called', async () => {
  const bytes = Buffer.from([0x50, 0x4b, 3, 4, 0xff, 0xfe, 0x80]);
  for (const contentType of ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', '']) {
    server.answer = (_, to) => to.writeHead(200, contentType === '' ? {} : { 'content-type': contentType }).end(bytes);
    const { content } = (await ask()).value as { content: { resource: { blob: string; mimeType: string } }[] };
    assert.equal(content[0]!.resource.blob, bytes.toString('base64'));
    assert.equal(content[0]!.resource.mimeType, contentType || 'application/octet-stream');
  }
});

test('integers of an answer that are too long for a number come as text, digit by digit', async () => {
  const body = '{"id":9007199254740993,"all":[-12345678901234567890,9007199254740991,1.5]}';
  const value = { id: '9007199254740993', all: ['-12345678901234567890', 9007199254740991, 1.5] };
  server.answer = (_, to) => to.writeHead(200, { 'content-type': 'application/json' }).end(body);
  assert.deepEqual((await ask()).value, value);
  assert.equal((await ask({}, { select: '/id' })).value, value.id);
  server.answer = (_, to) => to.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(`${body}\n`);
  assert.deepEqual((await ask()).value, [value]);
});

test('what a server says of its failure is read in its charset', async () => {
  server.answer = (_, to) =>
    to.writeHead(400, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from('Größe', 'latin1'));
  await assert.rejects(ask(), /answered 400: Größe/);
});

test('select takes a JSON Pointer or JMESPath, and what is not there is null', async () => {
  server.answer = (_, to) => json(to, { items: [{ n: 1, 'a/b': 'x' }, { n: 5 }] });
  const selected = async (select: string) => (await ask({}, { select })).value;
  assert.equal(await selected('/items/1/n'), 5);
  assert.equal(await selected('/items/0/a~1b'), 'x');
  assert.equal(await selected('/items/7'), null);
  assert.deepEqual(await selected('items[?n > `2`].n'), [5]);
  assert.equal(await selected('nothing.here'), null);
});

test('broken JSON is an answer that failed, not a crash', async () => {
  for (const body of ['{"a":', 'nonsense', '\x00\x01', '['.repeat(100_000), '['.repeat(5_000) + ']'.repeat(5_000)]) {
    server.answer = (_, to) => to.writeHead(200, { 'content-type': 'application/json' }).end(body);
    await assert.rejects(ask(), hasCode('tool.failed'), body.slice(0, 20));
  }
});

test('success is what successCodes say, and errorMode empty turns an error into null', async () => {
  server.answer = (_, to) => json(to, { found: false }, 404);
  await assert.rejects(
    ask(),
    (error: { code: string; retryable: boolean; message: string }) =>
      error.code === 'tool.failed' && !error.retryable && /answered 404: \{"found":false\}/.test(error.message),
  );
  assert.deepEqual((await ask({}, { successCodes: [404] })).value, { found: false });
  const empty = await ask({}, { errorMode: 'empty' });
  assert.deepEqual([empty.value, empty.isEmpty], [null, true]);
  server.answer = (_, to) => json(to, {}, 200);
  await assert.rejects(ask({}, { successCodes: [201] }), hasCode('tool.failed', /answered 200/));
  server.answer = (_, to) => json(to, {}, 503);
  server.seen.splice(0);
  assert.equal((await ask({}, { errorMode: 'empty' })).value, null);
  assert.equal(server.seen.length, 3);
});

test('trouble that may pass is tried three times, for methods that may be repeated', async () => {
  for (const status of [502, 429, 408, 425]) {
    server.seen.splice(0);
    server.answer = inTurn(
      (_, to) => to.writeHead(status).end(),
      (_, to) => to.writeHead(status).end(),
      (_, to) => json(to, 'third'),
    );
    assert.equal((await ask()).value, 'third', String(status));
  }
  server.seen.splice(0);
  server.answer = (_, to) => to.writeHead(500).end();
  await assert.rejects(
    ask(),
    (error: { code: string; retryable: boolean }) => error.code === 'tool.failed' && error.retryable,
  );
  assert.equal(server.seen.length, 3);
});

test('what must not be repeated is sent once, unless the tool says it may', async () => {
  server.answer = (_, to) => to.writeHead(500).end();
  const tries = async (more: Partial<HttpImpl['request']>, limits?: { maxTries: number }) => {
    server.seen.splice(0);
    await assert.rejects(ask(more, undefined, limits ? { limits } : {}), hasCode('tool.failed'));
    return server.seen.length;
  };
  assert.equal(await tries({ method: 'POST' }), 1);
  assert.equal(await tries({ method: 'PATCH' }), 1);
  assert.equal(await tries({ method: 'PUT' }), 3);
  assert.equal(await tries({ method: 'POST', retry: { unsafe: true } }), 3);
  assert.equal(await tries({ retry: { maxTries: 2 } }), 2);
  assert.equal(await tries({}, { maxTries: 1 }), 1);
  server.seen.splice(0);
  server.answer = (_, to) => to.writeHead(404).end();
  await assert.rejects(ask(), hasCode('tool.failed'));
  assert.equal(server.seen.length, 1);
});

test('Retry-After is waited for, and when it lies beyond the deadline nothing is waited for', async () => {
  server.answer = inTurn(
    (_, to) => to.writeHead(429, { 'retry-after': '1' }).end(),
    (_, to) => json(to, 'later'),
  );
  const started = performance.now();
  assert.equal((await ask()).value, 'later');
  assert.ok(performance.now() - started >= 990);
  server.seen.splice(0);
  server.answer = (_, to) => to.writeHead(503, { 'retry-after': '3600' }).end();
  const again = performance.now();
  await assert.rejects(ask(), hasCode('tool.failed', /503/));
  assert.ok(performance.now() - again < 8_000);
  assert.equal(server.seen.length, 1);
});

test('everything ends at the deadline: silent servers, endless slow bodies, retries', async () => {
  const endings: TestServer['answer'][] = [
    () => {},
    (_, to) => {
      to.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => to.write(' '), 10);
      to.on('close', () => clearInterval(drip));
    },
    (_, to) => {
      to.writeHead(200, { 'content-type': 'text/event-stream' });
      const drip = setInterval(() => to.write(': ping\n\n'), 10);
      to.on('close', () => clearInterval(drip));
    },
    (_, to) => to.writeHead(503).end(),
  ];
  for (const [index, ending] of endings.entries()) {
    server.answer = ending;
    const started = performance.now();
    await assert.rejects(ask({ timeoutMs: 150 }), (error: { code: string }) =>
      // Where it refuses so late that the deadline is over, nobody hears it.
      [index === 3 ? 'tool.failed' : 'tool.timeout', 'tool.timeout'].includes(error.code),
    );
    assert.ok(performance.now() - started < 8_000);
  }
});

test('whoever called may stop the call', async () => {
  server.answer = () => {};
  const stop = new AbortController();
  const asked = ask({}, undefined, { signal: stop.signal });
  setTimeout(() => stop.abort(Object.assign(new Error('stopped'), { code: 'stopped' })), 50);
  await assert.rejects(asked, hasCode('stopped'));
});

test('an answer is cut off at its limit, also when it only grows while it is unpacked', async () => {
  const limits = { maxResponseBytes: 10_000 };
  const zeros = Buffer.alloc(50 * 1024 * 1024);
  const bombs: [string, Buffer][] = [
    ['gzip', gzipSync(zeros)],
    ['deflate', deflateSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
  ];
  for (const [encoding, bytes] of bombs) {
    server.answer = (_, to) => to.writeHead(200, { 'content-encoding': encoding }).end(bytes);
    await assert.rejects(ask({}, undefined, { limits }), hasCode('response.too_large'), encoding);
  }
  server.answer = (_, to) => to.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(10_001));
  await assert.rejects(ask({}, undefined, { limits }), hasCode('response.too_large'));
  server.answer = (_, to) => to.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(10_000));
  assert.equal(String((await ask({}, undefined, { limits })).value).length, 10_000);
  server.answer = (_, to) => {
    const more = (): void => void (to.destroyed || (to.write('y'.repeat(65_536)), setImmediate(more)));
    to.writeHead(200, { 'content-type': 'text/plain' });
    more();
  };
  await assert.rejects(ask(), hasCode('response.too_large', /4194304/));
});

test('an answer to HEAD is null, whatever size it announces', async () => {
  server.answer = (_, to) => to.writeHead(200, { 'content-length': '99999999' }).end();
  assert.equal((await ask({ method: 'HEAD' })).value, null);
});

test('compressed answers are unpacked, broken or unknown ones are refused', async () => {
  for (const [encoding, pack] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ] as const) {
    server.answer = (_, to) =>
      to
        .writeHead(200, { 'content-encoding': encoding, 'content-type': 'application/json' })
        .end(pack('{"packed":true}'));
    assert.deepEqual((await ask()).value, { packed: true });
  }
  for (const encoding of ['gzip', 'br', 'compress', 'gzip, gzip, gzip, gzip']) {
    server.answer = (_, to) => to.writeHead(200, { 'content-encoding': encoding }).end('this is not packed');
    await assert.rejects(ask(), hasCode('tool.failed'), encoding);
  }
});

test('a request body over the limit of the tool is not sent', async () => {
  await assert.rejects(
    ask({ method: 'POST', body: 'x'.repeat(101) }, undefined, { limits: { maxRequestBytes: 100 } }),
    hasCode('tool.failed', /100 bytes/),
  );
  assert.equal(server.seen.length, 0);
});

/** A server that speaks raw bytes. */
async function raw(
  onSocket: (socket: Socket) => void,
): Promise<{ url: string; connections: () => number; close(): void }> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const made = createTcpServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    onSocket(socket);
  });
  await new Promise<void>((done) => made.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(made.address() as AddressInfo).port}/`,
    connections: () => connections,
    close: () => (sockets.forEach((each) => each.destroy()), made.close()),
  };
}

test('servers that close early, talk nonsense or send huge headers are failures, never a hang', async () => {
  const cases: [string, (socket: Socket) => void, string][] = [
    ['closes at once', (socket) => socket.destroy(), 'source.unreachable'],
    [
      'closes in the headers',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Le')),
      'source.unreachable',
    ],
    [
      'closes in the body',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort')),
      'source.unreachable',
    ],
    ['is no HTTP', (socket) => socket.once('data', () => socket.end('SSH-2.0-nonsense\r\n')), 'source.unreachable'],
    [
      'sends 5 MB of headers',
      (socket) => socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(5_000_000)}\r\n\r\n`)),
      'source.unreachable',
    ],
    [
      'sends endless headers',
      (socket) =>
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\n');
          const more = (): void =>
            void (
              socket.destroyed || (socket.write(`X-${Math.random()}: ${'b'.repeat(1000)}\r\n`), setImmediate(more))
            );
          more();
        }),
      'source.unreachable',
    ],
    [
      'sends a broken chunk',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n')),
      'source.unreachable',
    ],
  ];
  for (const [name, onSocket, code] of cases) {
    const server = await raw(onSocket);
    const started = performance.now();
    await assert.rejects(
      bench.run({ method: 'GET', urlTemplate: server.url, timeoutMs: 30_000 }),
      (error: { code: string; retryable: boolean }) => error.code === code && error.retryable,
      name,
    );
    assert.ok(performance.now() - started < 25_000, name);
    server.close();
  }
  const gone = await raw(() => {});
  gone.close();
  await assert.rejects(bench.run({ method: 'GET', urlTemplate: gone.url }), hasCode('source.unreachable', /refused/));
});

test('a connection that breaks is tried again for GET and not for POST', async () => {
  const breaking = await raw((socket) => socket.destroy());
  await assert.rejects(bench.run({ method: 'GET', urlTemplate: breaking.url }), hasCode('source.unreachable'));
  assert.equal(breaking.connections(), 3);
  await assert.rejects(bench.run({ method: 'POST', urlTemplate: breaking.url }), hasCode('source.unreachable'));
  assert.equal(breaking.connections(), 4);
  breaking.close();
});

test('redirect loops end, and credentials do not follow to another server', async () => {
  server.answer = (_, to) => to.writeHead(302, { location: '/' }).end();
  await assert.rejects(ask(), hasCode('tool.failed', /redirect/));
  assert.equal(server.seen.length, 6);
  await bench.secrets.set('GOES_NOWHERE', 'never-forwarded');
  const other = await testServer((_, to) => json(to, 'other'));
  server.answer = (_, to) => to.writeHead(307, { location: `${other.url}/there` }).end();
  const secretHeaders = {
    headers: { 'x-token': '${GOES_NOWHERE}', 'x-plain': 'p' },
    auth: { type: 'apiKey', in: 'header', name: 'X-Key', value: '${GOES_NOWHERE}' },
  } as const;
  assert.equal((await ask(secretHeaders)).value, 'other');
  assert.deepEqual(
    [other.seen[0]!.headers['x-token'], other.seen[0]!.headers['x-key'], other.seen[0]!.headers['x-plain']],
    [undefined, undefined, 'p'],
  );
  await assert.rejects(ask({ method: 'PUT', body: { k: '${GOES_NOWHERE}' } }), hasCode('host.not_allowed', /secret/));
  assert.doesNotMatch(JSON.stringify(other.seen), /never-forwarded/);
  other.close();
});
