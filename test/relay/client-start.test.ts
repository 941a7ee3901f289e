import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { clientFile } from '../kit/programs.ts';
import { relayClient, textOf, toolNames, type RelayClient } from '../kit/relay-client.ts';
import { until } from '../kit/until.ts';

const base = ['run', 'session_events', 'session_message'];
const key = `oub_${'A'.repeat(43)}`;
const own = (name: string): object => ({ tools: [{ name, inputSchema: { type: 'object' } }] });
const refusal = { error: { code: -32001, message: 'invalid or expired API key' } };

interface Request {
  id: string;
  method: string;
  params: any;
  again?: boolean;
}

describe('oubliette-client on a server that takes its time', () => {
  let folder: string;
  let path: string;
  let server: Server;
  /** The newest connection, and all that was asked on any. */
  let client: Socket;
  let requests: Request[];
  let connections: number;
  let started: RelayClient;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'oub-'));
    path = join(folder, 'relay.sock');
    requests = [];
    connections = 0;
    server = createServer((socket) => {
      connections++;
      client = socket.on('error', () => {});
      createInterface({ input: socket })
        .on('error', () => {})
        .on('line', (line) => requests.push(JSON.parse(line) as Request));
    }).listen(path);
    await once(server, 'listening');
  });
  afterEach(async () => {
    await started.client.close();
    client.destroy();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (apiKey?: string): Promise<void> => {
    started = await relayClient(path, apiKey, 'legacy');
    await until(() => connections > 0);
  };
  const say = (message: object): void => void client.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const declare = (name: string, more = {}): void =>
    say({ method: 'caller_tools_config', params: { caller_id: 'ant', tools: [{ name }], ...more } });
  /** The request of this method that was not looked at before, now or later. */
  const taken = async (method: string): Promise<Request> => {
    await until(() => requests.some((each) => each.method === method));
    return requests.splice(
      requests.findIndex((each) => each.method === method),
      1,
    )[0]!;
  };
  const answer = ({ id }: Request, how: object): void => say({ id, ...how });

  for (const last of ['discovery', 'declaration'])
    it(`holds the first list until the ${last} is in`, async () => {
      await start(key);
      let isAnswered = false;
      const list = toolNames(started).finally(() => (isAnswered = true));
      const discovery = await taken('oubliette_tools');
      assert.deepEqual(discovery.params, { api_key: key });
      if (last === 'discovery') declare('lent');
      else answer(discovery, { result: own('made') });
      await sleep(100);
      assert.equal(isAnswered, false);
      if (last === 'discovery') answer(discovery, { result: own('made') });
      else declare('lent');
      assert.deepEqual(await list, ['ant_lent', 'oubliette_made', ...base]);
    });

  it('holds the first list three seconds at most', async () => {
    await start(key);
    const from = performance.now();
    assert.deepEqual(await toolNames(started), base);
    const took = performance.now() - from;
    assert.ok(took > 2900 && took < 15_000, `${took} ms`);
    declare('lent');
    await until(async () => (await toolNames(started)).includes('ant_lent'));
  });

  it('goes on at once when its key is refused, and sends that key no further', async () => {
    await start(key);
    declare('lent');
    answer(await taken('oubliette_tools'), refusal);
    await until(() => started.stderr().includes('invalid or expired API key'));
    const from = performance.now();
    assert.deepEqual(await toolNames(started), ['ant_lent', ...base]);
    assert.ok(performance.now() - from < 2900, 'it does not wait for an answer that it has');
    const none = await started.client.callTool({ name: 'oubliette_project_list', arguments: {} });
    assert.deepEqual([none.isError, textOf(none)], [true, 'There is no tool oubliette_project_list.']);
    assert.ok(!JSON.stringify(requests).includes(key));
  });

  it('takes an empty key for none', async () => {
    await start('');
    declare('lent');
    assert.deepEqual(await toolNames(started), ['ant_lent', ...base]);
    assert.deepEqual([requests, started.stderr()], [[], '']);
  });

  it('asks again when it has to connect again, and drops what its key does not reach any more', async () => {
    await start(key);
    let changes = 0;
    started.client.setNotificationHandler('notifications/tools/list_changed', () => void changes++);
    for (const [how, names] of [
      [{ result: own('first') }, ['oubliette_first']],
      [{ result: own('second') }, ['oubliette_second']],
      [refusal, []],
    ] as const) {
      const discovery = await taken('oubliette_tools');
      const before = changes;
      answer(discovery, how);
      await until(() => changes > before);
      assert.deepEqual(await toolNames(started), [...names, ...base]);
      client.destroy();
    }
  });

  it('sends what is open again under the same id, and marks it', async () => {
    await start();
    declare('lent');
    const call = started.client.callTool({ name: 'ant_lent', arguments: { n: 1 } });
    const first = await taken('caller_tool');
    assert.equal(first.again, undefined);
    client.destroy();
    const again = await taken('caller_tool');
    assert.deepEqual(again, { ...first, again: true });
    answer(again, { result: 'late' });
    assert.equal(textOf(await call), 'late');
  });

  it('tells an agent that asked for it that the answer is still being waited for', async () => {
    await start();
    declare('lent');
    let ticks = 0;
    const call = started.client.callTool(
      { name: 'ant_lent', arguments: { n: 1 } },
      { onprogress: () => void ticks++, timeout: 8000, resetTimeoutOnProgress: true },
    );
    const request = await taken('caller_tool');
    assert.deepEqual(request.params, { tool: 'lent', arguments: { n: 1 } });
    await until(() => ticks > 1);
    answer(request, { error: { code: -32003, message: 'caller tool timed out after 60 s' } });
    assert.equal(textOf(await call), 'caller tool timed out after 60 s');
  });

  it('refuses calls at once when the server has been gone for longer than it waits', async () => {
    await start();
    declare('lent', { reconnect_grace_ms: 200 });
    await toolNames(started);
    server.close();
    client.destroy();
    await sleep(1000);
    const from = performance.now();
    const refused = await started.client.callTool({ name: 'ant_lent', arguments: {} });
    assert.deepEqual([refused.isError, textOf(refused)], [true, 'the server is not there']);
    assert.ok(performance.now() - from < 5000);
  });

  it('ends with its agent', async () => {
    await start();
    const child = spawn(process.execPath, [clientFile, '--socket', path], { stdio: ['pipe', 'ignore', 'ignore'] });
    const ended = once(child, 'exit');
    child.stdin.end();
    assert.deepEqual(await ended, [0, null]);
  });
});
