import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Wire } from './wire.ts';

test('a request that is cancelled already, with hardly any time, is sent, then cancelled, and nobody waits for it', async () => {
  const sent: unknown[] = [];
  const inner = {
    start: async () => {},
    send: async (message: object) => void sent.push('method' in message && message.method),
    close: async () => {},
  };
  const wire = new Wire(inner, { onNotification() {}, onRequest: async () => ({}) });
  const asked = wire.request('tools/call', {}, { timeoutMs: 1, call: { signal: AbortSignal.abort() } });
  await assert.rejects(asked, { name: 'AbortError' });
  assert.deepEqual(sent, ['tools/call', 'notifications/cancelled']);
  assert.equal(wire.isWaiting, false);
});
