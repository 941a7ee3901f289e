import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { testServer } from '../../../test/http/testbed.ts';
import { until } from '../../../test/kit/until.ts';
import { boundedFetch } from './bounded-fetch.ts';

const server = await testServer();
after(() => server.close());

const limit = 100_000;
const bounded = boundedFetch(fetch, limit);
const tooLarge = { code: 'response.too_large' };

/** What a client reads of an answer that the server makes so. */
async function read(answer: (response: ServerResponse) => void): Promise<string> {
  server.answer = (_, response) => answer(response);
  return (await bounded(server.url)).text();
}

const head = (response: ServerResponse, type: string, more = {}): ServerResponse =>
  response.writeHead(200, { 'content-type': type, ...more });

test('an answer is read up to the limit and not beyond, also when it is packed or never ends', async () => {
  const json = 'application/json';
  assert.equal((await read((response) => head(response, json).end('x'.repeat(limit)))).length, limit);
  await assert.rejects(
    read((response) => head(response, json).end('x'.repeat(limit + 1))),
    tooLarge,
  );
  const packed = gzipSync('x'.repeat(limit * 10));
  await assert.rejects(
    read((response) => head(response, json, { 'content-encoding': 'gzip' }).end(packed)),
    tooLarge,
  );
  let endless: ServerResponse | undefined;
  await assert.rejects(
    read((response) => (endless = head(response, json)).write('x'.repeat(limit + 1))),
    tooLarge,
  );
  await until(() => endless?.destroyed);
});

test('a stream may be as long as it likes, but none of its events', async () => {
  const type = 'text/event-stream; charset=utf-8';
  const event = `data: ${'x'.repeat(limit / 2)}`;
  for (const gap of ['\n\n', '\r\n\r\n', '\r\r'])
    assert.equal(
      (await read((response) => head(response, type).end((event + gap).repeat(8)))).length,
      (event + gap).length * 8,
    );
  await assert.rejects(
    read((response) => head(response, type).end(`${event}\n`.repeat(3))),
    tooLarge,
  );
  // The empty line comes in two pieces.
  const inPieces = async (response: ServerResponse): Promise<void> => {
    head(response, type);
    for (let i = 0; i < 4; i++) {
      response.write(`${event}\n`);
      await new Promise((resolve) => setTimeout(resolve, 30));
      response.write('\n');
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    response.end();
  };
  assert.equal((await read((response) => void inPieces(response))).length, (event.length + 2) * 4);
});

test('a stream of very many events is read only now and then', async () => {
  let sent = 0;
  server.answer = (_, response) => {
    head(response, 'text/event-stream');
    const flood = (): void => {
      if (response.destroyed) return;
      sent += 100;
      if (response.write('data: {}\n\n'.repeat(100))) setImmediate(flood);
      else response.once('drain', flood);
    };
    flood();
  };
  const reader = (await bounded(server.url)).body!.getReader();
  const beganAt = performance.now();
  let read = 0;
  while (performance.now() - beganAt < 1_500) {
    const { value } = await reader.read();
    read +=
      Buffer.from(value ?? [])
        .toString()
        .split('\n\n').length - 1;
  }
  await reader.cancel();
  // A piece may hold some thousand of these small events.
  assert.ok(read >= 1_000 && read < 40_000, `${read} of ${sent}`);
});

test('events that answer what was posted do not count among those, and no more than was posted', async () => {
  let stream: ServerResponse | undefined;
  server.answer = (asked, response) => {
    if (asked.method === 'POST') response.writeHead(202).end();
    else (stream = head(response, 'text/event-stream')).flushHeaders();
  };
  const oneStream = boundedFetch(fetch, limit, true);
  for (let posted = 0; posted < 1000; posted += 50)
    await Promise.all(Array.from({ length: 50 }, () => oneStream(server.url, { method: 'POST', body: '{}' })));
  const reader = (await oneStream(server.url)).body!.getReader();
  /** How long it takes until an event is read that is sent a moment after so many others. */
  const readAfter = async (count: number): Promise<number> => {
    const sentAt = performance.now();
    stream!.write('data: {}\n\n'.repeat(count));
    setTimeout(() => stream!.write('data: last\n\n'), 50);
    for (let text = ''; !text.includes('last');) text += Buffer.from((await reader.read()).value!).toString();
    return performance.now() - sentAt;
  };
  assert.ok((await readAfter(2900)) < 800);
  await sleep(1100);
  assert.ok((await readAfter(2900)) > 800);
  await reader.cancel();
});

test('of a refusal only the beginning is read', async () => {
  let refusing: ServerResponse | undefined;
  const text = await read((response) => (refusing = response.writeHead(500)).write('x'.repeat(1_000_000)));
  assert.equal(text.length, 64 * 1024);
  await until(() => refusing?.destroyed);
});
