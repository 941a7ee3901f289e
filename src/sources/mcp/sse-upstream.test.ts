import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { sseServer, type SseServer } from '../../../test/mcp/sse-server.ts';
import { closeServers, connected, openAlone, openServers, run } from '../../../test/mcp/upstream-bench.ts';
import { until } from '../../../test/kit/until.ts';
import type { McpServers } from './servers.ts';

const opened: SseServer[] = [];
afterEach(async () => {
  await closeServers();
  for (const each of opened.splice(0)) each.close();
});

async function upstream(): Promise<SseServer> {
  const server = await sseServer();
  opened.push(server);
  return server;
}

async function connect(server: SseServer): Promise<McpServers> {
  const { servers } = await openServers({ sse: { url: server.url, type: 'sse' } });
  await connected(servers);
  return servers;
}

test('when the stream of an SSE server breaks, its calls end at once and later ones run in a new session', async () => {
  const server = await upstream();
  const servers = await connect(server);
  server.onCall = (session) => server.sessions.get(session)?.destroy();
  const beganAt = performance.now();
  await assert.rejects(run(servers, 'sse', 'hi'), { code: 'source.unreachable' });
  assert.ok(performance.now() - beganAt < 5_000);
  const answer = await until(() => run(servers, 'sse', 'hi').catch(() => undefined));
  assert.equal(answer.value, 'hi in s2');
});

test('an SSE server that has forgotten the session is greeted anew within the call', async () => {
  const server = await upstream();
  const servers = await connect(server);
  server.sessions.clear();
  assert.equal((await run(servers, 'sse', 'hi')).value, 'hi in s2');
});

test('an SSE server that never says where messages go is given up in time, and holds up no end', async () => {
  const server = await upstream();
  server.isWelcoming = false;
  const config = { url: server.url, type: 'sse' } as const;
  await assert.rejects(openAlone(config, 200), /no connection within 200 ms/);
  await openServers({ sse: config });
  await until(() => server.sessions.size === 2);
  const beganAt = performance.now();
  await closeServers();
  assert.ok(performance.now() - beganAt < 5_000);
  await until(() => [...server.sessions.values()].every((stream) => stream.destroyed));
});
