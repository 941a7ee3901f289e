import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HttpImpl, Progress } from '../../src/schema/index.ts';
import { hasCode, openPlace } from './testbed.ts';

const { server, bench, ask } = await openPlace(() => ['127.0.0.1']);

test('server-sent events and JSON lines are passed on as they come and collected at the end', async () => {
  let release = (): void => {};
  const seenFirst = new Promise<void>((done) => (release = done));
  server.answer = (_, to) => {
    to.writeHead(200, { 'content-type': 'text/event-stream' });
    to.write('event: token\r\ndata: {"n":1}\r\n\r\n: comment\n\ndata: two\ndata: lines\n\nda');
    void seenFirst.then(() => to.end('ta: "ü"\n\ndata: [DONE]\n\n'));
  };
  const told: Progress[] = [];
  const onProgress = (progress: Progress): void => {
    told.push(progress);
    release();
  };
  const result = await ask({}, undefined, { onProgress });
  assert.deepEqual(result.value, [{ n: 1 }, 'two\nlines', 'ü']);
  assert.deepEqual(
    told.map((each) => [each.progress, each.message]),
    [
      [1, '{"n":1}'],
      [2, 'two\nlines'],
      [3, '"ü"'],
    ],
  );
  server.answer = (_, to) =>
    to.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('{"a":1}\n\n{"a":2}\nnull');
  assert.deepEqual((await ask()).value, [{ a: 1 }, { a: 2 }, null]);
  assert.deepEqual((await ask({}, { select: '[].a' })).value, [1, 2]);
  assert.equal((await ask({}, { encoding: 'text' })).value, '{"a":1}\n{"a":2}\nnull');
});

test('a secret that comes back in a stream is hidden in its progress', async () => {
  await bench.secrets.set('ECHOED', 'echo-this-secret');
  server.answer = (_, to) =>
    to.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: echo-this-secret\n\n');
  const told: Progress[] = [];
  await ask({ headers: { 'x-k': '${ECHOED}' } }, undefined, { onProgress: (progress) => void told.push(progress) });
  assert.equal(told[0]?.message, '[secret:ECHOED]');
});

test('a secret that comes back in several pieces of a stream is hidden in its progress and in the value', async () => {
  await bench.secrets.set('PIECES', 'piece-by-piece-secret');
  const run = async (type: string, body: string, response?: HttpImpl['response']) => {
    server.answer = (_, to) => to.writeHead(200, { 'content-type': type }).end(body);
    const told: Progress[] = [];
    const onProgress = (progress: Progress): void => void told.push(progress);
    const { value } = await ask({ headers: { 'x-k': '${PIECES}' } }, response, { onProgress });
    return { value, told: told.map(({ message }) => message) };
  };
  const events = 'data: x piece-by-\n\ndata: piece-sec\n\ndata: ret y\n\n';
  assert.deepEqual(await run('text/event-stream', events), {
    value: ['x [secret:PIECES]', '', ' y'],
    told: ['x [secret:PIECES]', '', ' y'],
  });
  assert.equal((await run('text/event-stream', events, { encoding: 'text' })).value, 'x [secret:PIECES]\n\n y');
  const lines = '{"c": [{"t": "piece-by"}]}\n{"c": [{"t": "-piece-secret."}]}\n{"c": [{"t": "!"}]}';
  const read = await run('application/x-ndjson', lines);
  assert.deepEqual(read.value, [{ c: [{ t: '[secret:PIECES]' }] }, { c: [{ t: '.' }] }, { c: [{ t: '!' }] }]);
  assert.equal(read.told[2], '{"c": [{"t": "!"}]}');
});

test('a secret inside a binary answer is overwritten', async () => {
  await bench.secrets.set('DRAWN', 'drawn-into-a-picture');
  const picture = Buffer.concat([
    Buffer.from([0x89, 0x50, 0, 0xff]),
    Buffer.from('drawn-into-a-picture'),
    Buffer.from([0xfe]),
  ]);
  for (const type of ['image/png', 'application/octet-stream']) {
    server.answer = (_, to) => to.writeHead(200, { 'content-type': type }).end(picture);
    const [block] = (await ask({ headers: { 'x-k': '${DRAWN}' } })).content!;
    assert.ok(block && ('data' in block || block.type === 'resource'));
    const bytes = Buffer.from(('data' in block ? block.data : block.resource.blob)!, 'base64');
    assert.equal(bytes.length, picture.length);
    assert.ok(!bytes.includes('drawn-into'), type);
  }
});

test('no error text shows half of a secret', async () => {
  await bench.secrets.set('HALVED', 'halved-by-a-careless-cut');
  const message = async (status: number, body: string): Promise<string> => {
    server.answer = (_, to) => to.writeHead(status, { 'content-type': 'application/json' }).end(body);
    return ask({ headers: { 'x-k': '${HALVED}' } }).then(
      () => '',
      (error: Error) => error.message,
    );
  };
  for (const text of [
    await message(400, `${'x'.repeat(485)} halved-by-a-careless-cut`),
    await message(200, '? halved-by-a-careless-cut'),
  ]) {
    assert.notEqual(text, '');
    assert.doesNotMatch(text, /halved/);
  }
});

test('an item of a stream that is nested without end fails the call, not the server', async () => {
  server.answer = (_, to) =>
    to.writeHead(200, { 'content-type': 'application/x-ndjson' }).end('['.repeat(50_000) + ']'.repeat(50_000));
  await assert.rejects(ask(), hasCode('tool.failed', /nested/));
});
