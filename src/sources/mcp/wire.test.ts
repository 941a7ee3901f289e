import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactly } from '../../schema/index.ts';
import { Wire, type WireHooks } from './wire.ts';

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

interface Inner {
  onmessage?: (message: any) => void;
  start(): Promise<void>;
  send(message: object): Promise<void>;
  close(): Promise<void>;
}

async function opened(hooks: Partial<WireHooks>): Promise<{ wire: Wire; hears(text: string): void }> {
  const inner: Inner = { start: async () => {}, send: async () => {}, close: async () => {} };
  const wire = new Wire(inner, { onNotification() {}, onRequest: async () => ({}), ...hooks });
  await wire.start();
  return { wire, hears: (text) => inner.onmessage!(parseExactly(text)) };
}

test('long integers stay as they are written in what is handed on; the SDK gets numbers', async () => {
  const [handedOn, left]: [unknown[], unknown[]] = [[], []];
  const { wire, hears } = await opened({ onNotification: (_method, params) => handedOn.push(params) });
  wire.onmessage = (message) => left.push(message);
  hears('{"method":"notifications/message","params":{"data":12345678901234567890}}');
  hears('{"id":1,"result":{"ttlMs":12345678901234567890}}');
  assert.equal(JSON.stringify(handedOn), '[{"data":12345678901234567890}]');
  const rounded = Number('12345678901234567890');
  assert.deepEqual(left, [
    { method: 'notifications/message', params: { data: rounded } },
    { id: 1, result: { ttlMs: rounded } },
  ]);
});

test('a message that someone breaks at is a trouble of its connection', async () => {
  const { wire, hears } = await opened({
    onNotification() {
      throw new TypeError('broken');
    },
  });
  const troubles: string[] = [];
  wire.onerror = ({ message }) => troubles.push(message);
  hears('{"method":"notifications/message"}');
  assert.deepEqual(troubles, ['broken']);
});
