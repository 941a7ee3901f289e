import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { finishConnections } from './finish-connections.ts';

test('a server that stops closes each connection once its answer has left whole', { timeout: 60_000 }, async () => {
  const server = createServer();
  const finish = finishConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true });
  const ask = async (): Promise<{ response: ServerResponse; answer: Promise<IncomingMessage> }> => {
    const asked = get({ port: (server.address() as AddressInfo).port, agent });
    const answer = once(asked, 'response').then(([message]) => message as IncomingMessage);
    const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    return { response, answer };
  };
  const late = await ask();
  const large = await ask();
  const bytes = 64 * 2 ** 20;
  large.response.end(Buffer.alloc(bytes));
  const reading = await large.answer;

  // Far longer than the test may take: only what is closed by itself lets it end.
  const finished = finish(600_000, () => new Promise((resolve) => server.close(resolve)));
  late.response.end('late');
  let seen = 0;
  for await (const chunk of reading) seen += (chunk as Buffer).length;
  assert.equal(seen, bytes);
  const words: Buffer[] = [];
  for await (const chunk of await late.answer) words.push(chunk as Buffer);
  assert.equal(Buffer.concat(words).toString(), 'late');
  await finished;
  agent.destroy();
});

test('what does not end is cut off when the time is over', { timeout: 60_000 }, async () => {
  const server = createServer();
  const finish = finishConnections(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const asked = get({ port: (server.address() as AddressInfo).port });
  const broken = once(asked, 'error');
  await once(server, 'request');
  await finish(50, () => new Promise((resolve) => server.close(resolve)));
  assert.equal(((await broken)[0] as NodeJS.ErrnoException).code, 'ECONNRESET');
});
