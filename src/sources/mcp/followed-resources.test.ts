import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { until } from '../../../test/kit/until.ts';
import { closeServers, connected, openServers, raw, run } from '../../../test/mcp/upstream-bench.ts';

afterEach(closeServers);

const uri = 'note://one';

test('a resource is followed once for all, until the last one leaves, over new connections and configurations', async () => {
  const { servers } = await openServers({ raw: raw('resources') });
  await connected(servers);
  const subscribed = async () => (await run(servers, 'raw', 'subscribed')).value;
  const updates: string[] = [];
  servers.find('raw')!.onEvent((event) => event.kind === 'resource' && updates.push(event.uri));
  const [first, second] = await Promise.all([servers.find('raw')!.follow(uri), servers.find('raw')!.follow(uri)]);
  assert.equal(await subscribed(), uri);
  first!();
  first!();
  assert.equal(await subscribed(), uri);

  await assert.rejects(run(servers, 'raw', 'die'));
  await until(async () => (await subscribed().catch(() => '')) === uri);
  assert.ok(updates.length > 0, 'what was missed meanwhile is told');

  await servers.apply({ raw: { ...raw('resources'), timeoutMs: 29_000 } });
  await until(async () => (await subscribed().catch(() => '')) === uri);
  updates.length = 0;
  await run(servers, 'raw', 'touch');
  await until(() => updates.includes(uri));

  second!();
  await until(async () => (await subscribed()) === '');
});
