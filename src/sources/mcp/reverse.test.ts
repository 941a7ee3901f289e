import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { until } from '../../../test/kit/until.ts';
import { callAs, closeServers, connected, openServers, raw, run } from '../../../test/mcp/upstream-bench.ts';

afterEach(closeServers);

test('a person may take longer to answer than a call may take', async () => {
  const { servers } = await openServers({ raw: { ...raw(), timeoutMs: 200 } });
  await connected(servers);
  let release = (): void => {};
  const askClient = (): Promise<unknown> =>
    new Promise((resolve) => (release = () => resolve({ action: 'accept', content: { name: 'Ada' } })));
  const started = performance.now();
  const asked = run(servers, 'raw', 'ask', {}, callAs('me', { askClient }));
  await until(() => performance.now() - started > 1000);
  release();
  assert.deepEqual((await asked).value, { action: 'accept', content: { name: 'Ada' } });
  await assert.rejects(run(servers, 'raw', 'slow', { ms: 60_000 }, callAs('me', { progress: undefined as never })), {
    code: 'tool.timeout',
  });
});

test('a log line whose level is no text is a log line all the same', async () => {
  const { servers } = await openServers({ raw: raw('rude') });
  await connected(servers);
  const logged: unknown[] = [];
  const { value } = await run(servers, 'raw', 'mutter', {}, callAs('me', { relayLog: (each) => logged.push(each) }));
  assert.equal(value, 'muttered');
  assert.deepEqual(
    logged,
    ['', '', '5'].map((level) => ({ level, data: 'hm' })),
  );
});

test('a question that its server takes back is taken back from the client', async () => {
  const { servers } = await openServers({ raw: raw('rude') });
  await connected(servers);
  const askClient = (_method: string, _params: unknown, signal?: AbortSignal): Promise<unknown> =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('taken back'))));
  const { value } = await run(servers, 'raw', 'ask_and_take_back', {}, callAs('me', { askClient }));
  assert.deepEqual(value, { code: -32603, message: 'taken back' });
});

test('a question about a prompt goes to whoever asked for it, and to nobody while another one is served', async () => {
  const { servers } = await openServers({ raw: raw('rude') });
  await connected(servers);
  const asked: string[] = [];
  const answering = (who: string) => async () => (asked.push(who), { action: 'accept' });
  const prompt = () =>
    servers.find('raw')!.ask('prompts/get', { name: 'x' }, { principal: 'ada', onClientRequest: answering('ada') });
  assert.equal((await prompt())['description'], '{"action":"accept"}');
  const stop = new AbortController();
  const other = run(
    servers,
    'raw',
    'slow',
    { ms: 60_000 },
    callAs('bob', { askClient: answering('bob'), signal: stop.signal }),
  );
  assert.match(String((await prompt())['description']), /not certain whose call/);
  assert.deepEqual(asked, ['ada']);
  stop.abort();
  await assert.rejects(other);
});

test("what a server goes on with after a call was given up is nobody else's", async () => {
  const { servers } = await openServers({ raw: raw('rude') });
  await connected(servers);
  const stop = new AbortController();
  const given = run(servers, 'raw', 'ask_anyway', {}, callAs('ada', { signal: stop.signal }));
  const asked: string[] = [];
  const done = new AbortController();
  const others = run(
    servers,
    'raw',
    'slow',
    { ms: 60_000 },
    callAs('bob', { askClient: async () => asked.push('bob'), relayLog: () => {}, signal: done.signal }),
  );
  stop.abort();
  await assert.rejects(given, { code: 'tool.cancelled' });
  const lines = () => servers.find('raw')!.lines.join('\n');
  await until(() => /answered .*not certain whose call/.test(lines()));
  assert.deepEqual(asked, []);
  done.abort();
  await assert.rejects(others);
});

test('a server that announces a change whenever it is asked for its list is asked now and then', async () => {
  const { servers } = await openServers({ raw: raw('rude', 'stormy') });
  await connected(servers);
  const count = async (): Promise<number> => Number((await run(servers, 'raw', 'lists')).value);
  const [before, startedAt] = [await count(), performance.now()];
  await until(async () => (await count()) >= before + 3);
  const pauses = (performance.now() - startedAt) / 100;
  assert.ok((await count()) - before <= pauses + 3, `${(await count()) - before} lists in ${pauses} pauses`);
});

test('a text without a text is left out of an answer', async () => {
  const { servers } = await openServers({ raw: raw('rude') });
  await connected(servers);
  const { value, content } = await run(servers, 'raw', 'mute');
  assert.equal(value, 'said');
  assert.deepEqual(content, [{ type: 'text', text: 'said' }]);
});

test('what does not pass the gate is free of secrets too: prompts, their errors, and what is logged', async () => {
  const redact = <T>(value: T): T => JSON.parse(JSON.stringify(value ?? null).replaceAll('key-of-this-test', '***'));
  const { servers } = await openServers({ raw: { ...raw('rude'), env: { KEY: 'key-of-this-test' } } }, { redact });
  await connected(servers);
  const logged: unknown[] = [];
  const ask = (params: object) =>
    servers
      .find('raw')!
      .ask('prompts/get', { name: 'key', ...params }, { principal: 'me', onLog: (each) => logged.push(each) });
  assert.equal((await ask({}))['description'], 'the key is ***');
  await assert.rejects(ask({ arguments: {} }), { code: 7, message: 'no ***', data: ['***'] });
  assert.deepEqual(logged, [
    { level: 'info', data: { key: '***' } },
    { level: 'info', data: { key: '***' } },
  ]);
});
