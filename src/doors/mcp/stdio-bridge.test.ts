import { test } from 'node:test';
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { oldServer } from '../../../test/mcp/old-http-server.ts';
import { until } from '../../../test/kit/until.ts';
import { bridgeStdio } from './stdio-bridge.ts';

test('however many requests find that the server has forgotten the client, it is introduced once more', async () => {
  const forgotten = new Set<string>();
  const old = await oldServer({
    before(incoming, outgoing) {
      if (!forgotten.has(String(incoming.headers['mcp-session-id']))) return false;
      outgoing.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return true;
    },
  });
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answers = new Map<number, any>();
  createInterface({ input: output }).on('line', (line) => {
    const message = JSON.parse(line);
    answers.set(message.id, message);
  });
  const say = (message: object): void => void input.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  const bridging = bridgeStdio({ find: async () => ({ url: old.url, token: 'any' }), input, output });
  try {
    const clientInfo = { name: 't', version: '1' };
    say({ id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } });
    await until(() => answers.has(0));
    say({ method: 'notifications/initialized' });
    await until(() => old.streams.size === 1);
    forgotten.add('s1');
    for (let id = 1; id <= 5; id++) say({ id, method: 'tools/list' });
    await until(() => answers.size === 6);
    for (let id = 1; id <= 5; id++) assert.deepEqual(answers.get(id).result?.tools?.length, 1);
    assert.equal(old.seen.filter(({ body }) => body.includes('"initialize"')).length, 2);
  } finally {
    input.end();
    await bridging;
    old.close();
  }
});
