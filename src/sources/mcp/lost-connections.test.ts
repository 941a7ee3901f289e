import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { until } from '../../../test/kit/until.ts';
import { oldServer } from '../../../test/mcp/old-http-server.ts';
import { closeServers, connected, openServers, run } from '../../../test/mcp/upstream-bench.ts';
import { StdioPipe } from './stdio-pipe.ts';

const opened: (() => void)[] = [];
afterEach(async () => {
  await closeServers();
  for (const close of opened.splice(0)) close();
});

test('a request that the network cut off costs neither the others nor a stream that nobody reads', async () => {
  let answerSlow = (): void => {};
  const cut = { next: false };
  const old = await oldServer({
    before(_incoming, outgoing, body) {
      if (!cut.next || !body.includes('"cut"')) return false;
      outgoing.destroy();
      return true;
    },
    call: ({ arguments: { how } }) =>
      how === 'slow'
        ? new Promise((resolve) => (answerSlow = () => resolve({ content: [{ type: 'text', text: 'slow' }] })))
        : { content: [{ type: 'text', text: 'quick' }] },
  });
  opened.push(() => old.close());
  const { servers } = await openServers({ old: { url: old.url } });
  await connected(servers);
  await until(() => old.streams.size === 1);
  const [firstStream] = old.streams;
  const slow = run(servers, 'old', 'hi', { how: 'slow' });
  await until(() => old.seen.some(({ body }) => body.includes('"slow"')));
  cut.next = true;
  await assert.rejects(run(servers, 'old', 'hi', { how: 'cut' }), { code: 'source.unreachable' });
  await until(
    async () => (await run(servers, 'old', 'hi', { how: 'quick' }).catch(() => undefined))?.value === 'quick',
  );
  answerSlow();
  assert.equal((await slow).value, 'slow');
  await until(() => old.streams.size === 1 && !old.streams.has(firstStream!));
});

test('a change that came while no stream of changes was open is seen when there is one again', async () => {
  const names = ['one'];
  const listening = new Set<ServerResponse>();
  let isCut = false;
  const handler = toNodeHandler(
    createMcpHandler(
      () => {
        const server = new Server({ name: 'new', version: '1' }, { capabilities: { tools: { listChanged: true } } });
        server.setRequestHandler('tools/list', async () => ({
          tools: names.map((name) => ({ name, inputSchema: { type: 'object' as const } })),
        }));
        return server;
      },
      { legacy: 'reject' },
    ),
  );
  const http = createServer((incoming, outgoing) => {
    if (incoming.headers['mcp-method'] === 'subscriptions/listen') {
      if (isCut) names.push('two');
      listening.add(outgoing);
      outgoing.on('close', () => listening.delete(outgoing));
    }
    void handler(incoming, outgoing);
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  opened.push(() => {
    http.closeAllConnections();
    http.close();
  });
  const { servers } = await openServers({
    new: { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` },
  });
  await connected(servers);
  assert.equal((await servers.status())[0]?.protocol, '2026-07-28');
  const [stream] = await until(() => (listening.size === 1 ? [...listening] : undefined));
  isCut = true;
  stream!.destroy();
  await until(() => servers.bundles()[0]?.tools.length === 2);
});

test('a process that ends is gone, also when something that it started holds on to its pipes', async () => {
  const env = { PATH: process.env['PATH'] ?? '' };
  const pipe = new StdioPipe({ command: 'sh', args: ['-c', 'sleep 300 & exit 3'], env, cwd: '/' });
  let isClosed = false;
  pipe.onclose = () => (isClosed = true);
  await pipe.start();
  await until(() => isClosed);
});
