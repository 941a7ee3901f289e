import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailure } from './failure.ts';
import { ServerClient } from './server-client.ts';

/** What is said while two calls wait for a server that answers nothing but, perhaps, that it is well. */
async function saidWhileWaiting(isWell: boolean): Promise<string[]> {
  const server = createServer((request, response) => {
    if (isWell && request.url === '/health') response.end('{}');
    else if (request.url === '/health') response.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const said: string[] = [];
  const gone = new AbortController();
  const client = new ServerClient({ url, token: 't' }, () => new CommandFailure('x', 'x'), gone.signal, {
    afterMs: 20,
    onSilence: (at) => said.push(at.replace(url, 'it')),
  });
  const calls = [client.call('slow'), client.call('slower')];
  await sleep(300);
  gone.abort();
  await Promise.allSettled(calls);
  server.closeAllConnections();
  server.close();
  return said;
}

test('a server that does not even say that it is well is named, once', async () => {
  assert.deepEqual(await saidWhileWaiting(false), ['it']);
});

test('a server that is well may take its time', async () => {
  assert.deepEqual(await saidWhileWaiting(true), []);
});
