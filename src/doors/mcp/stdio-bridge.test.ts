import { test } from 'node:test';
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { oldServer } from '../../../test/mcp/old-http-server.ts';
import { until } from '../../../test/kit/until.ts';
import { bridgeStdio } from './stdio-bridge.ts';

const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
};

/** A client on stdio that was introduced to a server. */
async function introduced(url: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answers = new Map<number, any>();
  createInterface({ input: output }).on('line', (line) => {
    const message = JSON.parse(line);
    answers.set(message.id, message);
  });
  const say = (message: object): void => void input.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  const bridging = bridgeStdio({ find: async () => ({ url, token: 'any' }), input, output });
  const leave = (): Promise<void> => {
    input.end();
    return bridging;
  };
  say({ id: 0, ...initialize });
  await until(() => answers.has(0));
  say({ method: 'notifications/initialized' });
  return { say, answers, leave };
}

test('however many requests find that the server has forgotten the client, it is introduced once more', async () => {
  const forgotten = new Set<string>();
  const old = await oldServer({
    before(incoming, outgoing) {
      if (!forgotten.has(String(incoming.headers['mcp-session-id']))) return false;
      outgoing.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return true;
    },
  });
  const { say, answers, leave } = await introduced(old.url);
  try {
    await until(() => old.streams.size === 1);
    forgotten.add('s1');
    for (let id = 1; id <= 5; id++) say({ id, method: 'tools/list' });
    await until(() => answers.size === 6);
    for (let id = 1; id <= 5; id++) assert.deepEqual(answers.get(id).result?.tools?.length, 1);
    assert.equal(old.seen.filter(({ body }) => body.includes('"initialize"')).length, 2);
  } finally {
    await leave();
    old.close();
  }
});

test('a call that was on its way when the connection broke is not made again, a question is', async () => {
  const cut = new Set(['"tools/call"', '"tools/list"']);
  const old = await oldServer({
    before(_incoming, outgoing, body) {
      const what = [...cut].find((each) => body.includes(each));
      if (what === undefined) return false;
      cut.delete(what);
      outgoing.destroy();
      return true;
    },
  });
  const { say, answers, leave } = await introduced(old.url);
  const asked = (what: string): number => old.seen.filter(({ body }) => body.includes(what)).length;
  try {
    say({ id: 1, method: 'tools/call', params: { name: 'hi', arguments: {} } });
    await until(() => answers.has(1));
    assert.match(answers.get(1).error?.message, /It may have run: look before you call again/);
    assert.equal(asked('"tools/call"'), 1);
    say({ id: 2, method: 'tools/list' });
    await until(() => answers.has(2));
    assert.equal(answers.get(2).result?.tools?.length, 1);
    assert.equal(asked('"tools/list"'), 2);
  } finally {
    await leave();
    old.close();
  }
});
