import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { rawRelay, type RawRelay } from '../kit/relay-socket.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { turn, value } from '../kit/session.ts';
import { until } from '../kit/until.ts';

const lastingId = (): string => `call_${randomBytes(18).toString('base64url')}`;

describe("lines on a session's socket", () => {
  let server: TestServer;
  let path: string;
  let relay: RawRelay;
  let key: string;
  before(async () => {
    server = await testServer({ config: 'limits: { reconnectGraceMs: 7000 }\n' });
    const project = await value(server, 'project_create', { name: 'wire' });
    const { sessionId } = await turn(server, { project_id: project.id, message: '1' });
    path = (await value(server, 'session_get', { session_id: sessionId })).relay_socket;
    relay = await rawRelay(path);
    key = (await value(server, 'token_create', { name: 'k', scope: 'read' })).token;
  });
  after(async () => {
    relay.close();
    for (const { id } of (await value(server, 'session_list', {})).sessions)
      await value(server, 'session_end', { session_id: id });
    await server.remove();
  });

  const alive = async (): Promise<void> => {
    assert.equal((await relay.ask('oubliette_tools', { api_key: key })).result.tools.length, 7);
  };

  it('greets every connection with caller_tools_config, also when there are none', async () => {
    for (let i = 0; i < 3; i++) {
      const one = await rawRelay(path);
      const greeting = await one.next((message) => message.method === 'caller_tools_config');
      assert.deepEqual(greeting.params, { caller_id: '', tools: [], reconnect_grace_ms: 7000 });
      assert.deepEqual([greeting.jsonrpc, greeting.id], ['2.0', undefined]);
      const { error } = await one.ask('caller_tool', { tool: 'x', arguments: {} });
      assert.deepEqual([error.code, error.message], [-32602, 'x is not declared by the caller of this session']);
      one.close();
    }
  });

  it('answers garbage, half JSON and binary with -32700 and lives on', async () => {
    for (const line of ['not json', '{"a":', '\x00\x01\xff\xfe', '[1,2', '"']) {
      const before = relay.messages.length;
      relay.send(`${line}\n`);
      await relay.next(
        (message) => relay.messages.indexOf(message) >= before && message.error?.code === -32700 && message.id === null,
      );
    }
    relay.send('\n\n   \n');
    await alive();
  });

  it('refuses an id that would be rounded, and answers it under no other', async () => {
    const before = relay.messages.length;
    relay.send('{"id":9007199254740993,"method":"oubliette_tools","params":{}}\n');
    const { id, error } = await relay.next((message) => relay.messages.indexOf(message) >= before);
    assert.deepEqual([id, error.code], [null, -32600]);
    assert.match(error.message, /no integer beyond 2\^53/);
  });

  it('answers an integer that would be rounded with a result that names it', async () => {
    relay.send(
      `{"id":"long","method":"oubliette_call_tool","params":{"api_key":${JSON.stringify(key)},"tool":"project_get","arguments":{"project_id":9007199254740993}}}\n`,
    );
    const { result } = await relay.next((message) => message.id === 'long');
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /: \/args\/project_id is 9007199254740993, an integer too long to be carried/);
  });

  it('takes a line in pieces, and several in one piece', async () => {
    const line = JSON.stringify({ id: 'pieces', method: 'oubliette_tools', params: { api_key: key } });
    for (const letter of line.match(/.{1,7}/g)!) relay.send(letter);
    relay.send(
      `\n${JSON.stringify({ id: 'second', method: 'nothing' })}\n${JSON.stringify({ id: 'third', method: 'nothing' })}\n`,
    );
    assert.ok((await relay.next((message) => message.id === 'pieces')).result);
    assert.equal((await relay.next((message) => message.id === 'second')).error.code, -32601);
    assert.equal((await relay.next((message) => message.id === 'third')).error.code, -32601);
  });

  it('takes command for code, and says what a request lacks', async () => {
    assert.equal((await relay.ask('run', { command: '20 + 1' })).result.content[0].text, '21');
    for (const [method, name] of [
      ['run', 'code'],
      ['session_message', 'message'],
      ['session_events', 'session_id'],
    ] as const) {
      const { error } = await relay.ask(method, {});
      assert.deepEqual([error.code, error.message], [-32602, `${name} is missing`]);
    }
  });

  it('takes 16 MiB and refuses one byte more', async () => {
    const frame = JSON.stringify({ id: 'fits', method: 'oubliette_tools', params: { api_key: '' } });
    const room = 16 * 1024 * 1024;
    const filled = frame.replace('"api_key":""', `"api_key":"${'x'.repeat(room - frame.length)}"`);
    assert.equal(filled.length, room);
    relay.send(`${filled}\n`);
    assert.equal((await relay.next((message) => message.id === 'fits')).error.code, -32001);
    relay.send(`${filled.replace('fits', 'more')} \n`);
    const before = relay.messages.length;
    await relay.next((message) => relay.messages.indexOf(message) >= before && message.error?.code === -32700);
    assert.ok(!relay.messages.some((message) => message.id === 'more'));
    await alive();
  });

  it('takes a missing jsonrpc, answers a missing id with null, and refuses ids of other types', async () => {
    relay.send('{"method":"nothing"}\n');
    assert.equal(
      (await relay.next((message) => message.id === null && message.error?.code === -32601)).error.code,
      -32601,
    );
    for (const id of ['{}', '[]', 'true', '"' + 'x'.repeat(300) + '"']) {
      const before = relay.messages.length;
      relay.send(`{"id":${id},"method":"oubliette_tools"}\n`);
      await relay.next((message) => relay.messages.indexOf(message) >= before && message.error?.code === -32600);
    }
    assert.ok((await relay.ask('oubliette_tools', { api_key: key }, 7)).result, 'numbers are ids');
    for (const line of ['[]', '7', 'null', '{}', '{"id":1}', '[{"id":1,"method":"x"}]']) {
      const before = relay.messages.length;
      relay.send(`${line}\n`);
      await relay.next((message) => relay.messages.indexOf(message) >= before && message.error?.code === -32600);
    }
  });

  it('refuses params that are no object or nested too deeply', async () => {
    for (const params of [[], 'x', 7]) assert.equal((await relay.ask('oubliette_tools', params)).error.code, -32602);
    relay.send(`{"id":"deep","method":"oubliette_call_tool","params":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}\n`);
    assert.equal((await relay.next((message) => message.id === 'deep')).error.code, -32602);
    await alive();
  });

  it('refuses an id that is still open, and ends the call behind it when it is cancelled', async () => {
    const send = (message: object): void => relay.send(`${JSON.stringify(message)}\n`);
    for (const id of [70, 'short', lastingId()]) {
      send({ id, method: 'run', params: { code: 'while True:\n    pass' } });
      send({ id, method: 'nothing' });
      const { error } = await relay.next((message) => message.id === id);
      assert.deepEqual([error.code, error.message], [-32600, 'a request with this id is still open']);
      relay.messages.splice(0);
      for (const other of [undefined, null, {}, 71, 'none', lastingId()])
        send({ method: 'cancel', params: { id: other } });
      await alive();
      assert.ok(!relay.messages.some((message) => message.id === id), 'it goes on');
      send({ method: 'cancel', params: { id } });
      assert.equal((await relay.next((message) => message.id === id)).result.isError, true);
    }
  });

  it('ends what was asked when whoever asked is gone', async () => {
    const counted = async (tool: string, outcome: string): Promise<number> => {
      const { body } = await server.ask('GET', '/metrics');
      return Number(new RegExp(`tool="${tool}",outcome="${outcome}",door="socket"} (\\d+)`).exec(body)?.[1] ?? 0);
    };
    const [begun, ended] = [await counted('demo_foo', 'ok'), await counted('run', 'tool.cancelled')];
    const one = await rawRelay(path);
    const code = 'demo.foo(text="begun")\nwhile True:\n    pass';
    one.send(`${JSON.stringify({ id: 1, method: 'run', params: { code } })}\n`);
    await until(async () => (await counted('demo_foo', 'ok')) > begun);
    one.close();
    await until(async () => (await counted('run', 'tool.cancelled')) > ended, 20_000);
  });

  it('runs nothing twice that is sent again: what only reads may, what is open is joined', async () => {
    const again = async (method: string, params: object, id: string, one = relay): Promise<any> => {
      one.send(`${JSON.stringify({ id, method, params, again: true })}\n`);
      return one.next((each) => each.id === id);
    };
    const writer = (await value(server, 'token_create', { name: 'w', scope: 'write' })).token;
    const create = { api_key: writer, tool: 'project_create', arguments: { name: 'twice' } };
    const lost = [await again('oubliette_call_tool', create, 'lost-1'), await again('run', { code: '1' }, 'lost-2')];
    for (const { error } of lost) assert.equal(error.data.code, 'call.interrupted');
    const list = await again('oubliette_call_tool', { api_key: writer, tool: 'project_list' }, 'lost-3');
    assert.ok(!list.result.content[0].text.includes('twice'));
    const id = lastingId();
    const first = await relay.ask('oubliette_call_tool', create, id);
    const second = await rawRelay(path);
    assert.deepEqual((await again('oubliette_call_tool', create, id, second)).result, first.result);
    second.close();
  });

  it('answers many requests in any order', async () => {
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        relay.ask('oubliette_call_tool', { api_key: key, tool: 'project_list' }, `many-${i}`),
      ),
    );
    assert.ok(all.every(({ jsonrpc, result }) => jsonrpc === '2.0' && result.isError === false));
  });

  it('bears a thousand connections and clients that never read', async () => {
    const crowd: RawRelay[] = [];
    for (let i = 0; i < 256; i++) crowd.push(await rawRelay(path));
    const refusal = await crowd.at(-1)!.next((message) => message.id === null);
    assert.deepEqual([refusal.error.code, refusal.error.data.code], [-32000, 'rate.limited']);
    for (const each of crowd) each.close();
    for (let i = 0; i < 800; i++) (await rawRelay(path)).close();
    const deaf = await rawRelay(path);
    deaf.socket.pause();
    for (let i = 0; i < 300; i++)
      deaf.send(`${JSON.stringify({ id: i, method: 'oubliette_tools', params: { api_key: key } })}\n`);
    await alive();
    deaf.close();
  });

  it('begins a child once, also when the server was restarted before it is asked for again', async () => {
    const request = { id: lastingId(), method: 'session_message', params: { message: '1' }, again: true };
    const begun = async (): Promise<string> => {
      relay.messages.splice(0);
      relay.send(`${JSON.stringify(request)}\n`);
      return (await relay.next((message) => message.id === request.id)).result.session_id;
    };
    const first = await begun();
    await server.close();
    server = await testServer({ home: server.home });
    relay = await rawRelay(path);
    assert.equal(await begun(), first);
    assert.equal((await value(server, 'session_list', {})).sessions.length, 2);
  });
});
