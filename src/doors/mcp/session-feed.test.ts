import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { Actor } from '../../schema/index.ts';
import { Following, type SessionFeed } from './session-feed.ts';

const actor: Actor = { kind: 'token', door: 'mcp', principal: 'me', level: 'read' };

test('a client that comes back while its session is still being looked up follows it once', async () => {
  const open = new Set<(event: { index: number }) => void>();
  const begun: (() => void)[] = [];
  const feed: SessionFeed = {
    async follow(_actor, _sessionId, _after, onEvent) {
      await new Promise<void>((resolve) => begun.push(resolve));
      open.add(onEvent);
      return () => open.delete(onEvent);
    },
  };
  const seen: number[] = [];
  const following = new Following(
    feed,
    () => actor,
    (_, { index }) => seen.push(index),
  );
  await following.add('ses_1', 'newest');
  const first = following.listen();
  following.pause();
  const second = following.listen();
  assert.equal(begun.length, 2);
  for (const go of begun.toReversed()) go();
  await Promise.all([first, second]);
  assert.equal(open.size, 1);
  for (const tell of open) tell({ index: 7 });
  assert.deepEqual(seen, [7]);
  following.pause();
  assert.equal(open.size, 0);
});
