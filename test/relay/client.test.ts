import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { eventStream } from '../kit/event-stream.ts';
import { clientFile } from '../kit/programs.ts';
import { relayClient, textOf as text, toolNames as names, type RelayClient } from '../kit/relay-client.ts';
import { rawRelay } from '../kit/relay-socket.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { turn, value } from '../kit/session.ts';
import { until } from '../kit/until.ts';

const schema = { type: 'object', properties: { message: { type: 'string', 'x-hint': 'kept' } }, required: ['message'] };
const base = ['run', 'session_events', 'session_message'];

describe('oubliette-client', () => {
  let server: TestServer;
  let projectId: string;
  let key: string;
  const open: Client[] = [];
  before(async () => {
    server = await testServer({ config: 'limits: { sessionsPerProject: 30, reconnectGraceMs: 60000 }\n' });
    projectId = (await value(server, 'project_create', { name: 'clients' })).id;
    key = (await value(server, 'token_create', { name: 'k', scope: 'write' })).token;
  });
  after(async () => {
    for (const client of open) await client.close();
    for (const { id, status } of (await value(server, 'session_list', {})).sessions)
      if (status !== 'ended') await value(server, 'session_end', { session_id: id });
    await server.remove();
  });

  const begin = async (context?: object): Promise<{ sessionId: string; socket: string }> => {
    const { sessionId } = await turn(server, {
      project_id: projectId,
      create_workspace: true,
      message: '1',
      ...(context && { context }),
    });
    return { sessionId, socket: (await value(server, 'session_get', { session_id: sessionId })).relay_socket };
  };
  const start = async (...args: Parameters<typeof relayClient>): Promise<RelayClient> => {
    const started = await relayClient(...args);
    open.push(started.client);
    return started;
  };

  for (const era of ['auto', 'legacy'] as const)
    it(`offers base, own and caller tools under their prefixes, schemas unchanged (${era})`, async () => {
      const { socket } = await begin({
        caller_id: 'ant',
        caller_tools: [{ name: 'send_response', description: 'Send message', inputSchema: schema }],
      });
      const started = await start(socket, key, era);
      const all = await names(started);
      for (const name of [...base, 'oubliette_project_create', 'oubliette_project_list', 'ant_send_response'])
        assert.ok(all.includes(name), name);
      assert.ok(!all.includes('oubliette_token_create'));
      const { tools } = await started.client.listTools();
      const lent = tools.find((tool) => tool.name === 'ant_send_response')!;
      assert.deepEqual([lent.description, lent.inputSchema], ['Send message', schema]);
      const own = tools.find((tool) => tool.name === 'oubliette_project_get')!;
      assert.ok(own.description!.length > 10);
      assert.deepEqual(own.inputSchema.required, ['project_id']);
      const listed = await started.client.callTool({ name: 'oubliette_project_list', arguments: {} });
      assert.equal(JSON.parse(text(listed)).projects[0].name, 'clients');
    });

  it('hands on an integer as it is written, for the server to refuse', async () => {
    const { socket } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'hi', inputSchema: schema }] });
    const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
    const { client } = await start(socket, key);
    for (const [name, args] of [
      ['ant_hi', { message: rawJSON('12345678901234567890') }],
      ['oubliette_project_get', { project_id: rawJSON('12345678901234567890') }],
    ] as const) {
      const result = await client.callTool({ name, arguments: args });
      assert.equal(result.isError, true);
      assert.match(
        text(result),
        / is 12345678901234567890, an integer too long to be carried exactly\. Send it as a string/,
      );
    }
  });

  it('has base and caller tools alone without a key, and does not even ask', async () => {
    const { socket } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'hi' }] });
    const said: string[] = [];
    const listening = `${socket}.tap`;
    const tap = createServer((inner) => {
      const outer = connect(socket);
      inner.on('data', (chunk: Buffer) => said.push(chunk.toString()));
      inner.pipe(outer).pipe(inner);
      inner.on('error', () => {});
      outer.on('error', () => {});
    }).listen(listening);
    await once(tap, 'listening');
    const started = await start(listening);
    assert.deepEqual(await names(started), ['ant_hi', ...base].toSorted());
    assert.ok(!said.join('').includes('oubliette_tools'));
    const unknown = await started.client.callTool({ name: 'oubliette_project_list', arguments: {} });
    assert.equal(unknown.isError, true);
    await started.client.close();
    tap.close();
    await rm(listening, { force: true });
  });

  it('warns once about a key that is not valid and goes on without', async () => {
    const { socket } = await begin();
    const started = await start(socket, `oub_${'A'.repeat(43)}`);
    assert.deepEqual(await names(started), base);
    await until(() => started.stderr().endsWith('\n'));
    assert.equal(started.stderr().trim().split('\n').length, 1);
    assert.match(started.stderr(), /invalid or expired API key/);
    assert.ok(!started.stderr().includes('oub_'));
  });

  it('warns no second time when it has to connect and ask again', async () => {
    const { socket } = await begin();
    const listening = `${socket}.refusing`;
    let asked = 0;
    const refusing = createServer((client) => {
      client.on('error', () => {});
      createInterface({ input: client })
        .on('error', () => {})
        .on('line', (line) => {
          const { id, method } = JSON.parse(line) as { id: string; method: string };
          if (method !== 'oubliette_tools') return;
          asked++;
          const error = { code: -32001, message: 'invalid or expired API key' };
          client.end(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
        });
    }).listen(listening);
    await once(refusing, 'listening');
    const started = await start(listening, `oub_${'A'.repeat(43)}`);
    await until(() => asked >= 3);
    assert.equal(started.stderr().trim().split('\n').length, 1, started.stderr());
    await started.client.close();
    refusing.close();
    await rm(listening, { force: true });
  });

  it('maps every error of the socket to a result that says why', async () => {
    const { socket } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'slow' }], timeout_ms: 300 });
    const doomed = await value(server, 'token_create', { name: 'doomed', scope: 'write' });
    const { client } = await start(socket, doomed.token);
    const failed = async (name: string, args = {}): Promise<string> => {
      const result = await client.callTool({ name, arguments: args });
      assert.equal(result.isError, true);
      return text(result);
    };
    assert.equal(await failed('ant_slow'), 'caller tool timed out after 0.3 s');
    assert.match(await failed('oubliette_project_get', { project_id: 'proj_none' }), /proj_none/);
    assert.match(await failed('session_events', { session_id: 'ses_none' }), /ses_none/);
    await value(server, 'token_revoke', { token_id: doomed.id });
    assert.equal(await failed('oubliette_project_list'), 'invalid or expired API key');
  });

  it('says that the key is too weak when an agent calls a tool that was not offered', async () => {
    const { socket } = await begin();
    const { client } = await start(socket, key);
    const denied = await client.callTool({ name: 'oubliette_token_create', arguments: { name: 'x', scope: 'admin' } });
    assert.deepEqual([denied.isError, text(denied)], [true, 'tool not allowed for this token scope']);
    assert.equal((await value(server, 'token_list', {})).tokens.filter((token: any) => token.name === 'x').length, 0);
  });

  it('keeps its list readable when a declared schema has no type', async () => {
    const { socket } = await begin({
      caller_id: 'ant',
      caller_tools: [
        { name: 'any', inputSchema: {} },
        { name: 'some', inputSchema: { properties: { a: {} } } },
      ],
    });
    const { tools } = await (await start(socket)).client.listTools();
    const schemaOf = (name: string): object | undefined => tools.find((tool) => tool.name === name)?.inputSchema;
    assert.deepEqual(schemaOf('ant_any'), { type: 'object' });
    assert.deepEqual(schemaOf('ant_some'), { type: 'object', properties: { a: {} } });
  });

  it('answers a call that is too large for a line, and goes on', async () => {
    const { socket } = await begin();
    const { client } = await start(socket);
    const large = await client.callTool({ name: 'run', arguments: { code: 'a'.repeat(16 * 1024 * 1024) } });
    assert.equal(large.isError, true);
    assert.match(text(large), /16777216 bytes at most/);
    assert.equal(text(await client.callTool({ name: 'run', arguments: { code: '1 + 1' } })), '2');
  });

  it('ends when a line of the agent goes beyond all bounds, so that the agent does not wait for ever', async () => {
    const { socket } = await begin();
    const child = spawn(process.execPath, [clientFile, '--socket', socket], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.on('error', () => {});
    const ended = once(child, 'exit');
    for (let mebibytes = 0; mebibytes < 20; mebibytes++) child.stdin.write(Buffer.alloc(1024 * 1024, 'a'));
    assert.deepEqual(await ended, [0, null]);
  });

  it('follows a new declaration and announces the change', async () => {
    const { socket, sessionId } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'one' }] });
    let changes = 0;
    const started = await start(socket, undefined, 'legacy', () => changes++);
    assert.ok((await names(started)).includes('ant_one'));
    await turn(server, {
      session_id: sessionId,
      message: '2',
      context: { caller_id: 'ant', caller_tools: [{ name: 'two' }] },
    });
    await until(async () => (await names(started)).includes('ant_two'));
    assert.ok(!(await names(started)).includes('ant_one'));
    await until(() => changes > 0);
  });

  it('starts child sessions and reads what they did, and no others', async () => {
    const { socket, sessionId } = await begin();
    const other = await begin();
    const { client } = await start(socket);
    const spawned = JSON.parse(
      text(await client.callTool({ name: 'session_message', arguments: { message: '20 + 3' } })),
    );
    const child = await value(server, 'session_get', { session_id: spawned.session_id });
    const { workspace_id } = await value(server, 'session_get', { session_id: sessionId });
    assert.deepEqual([child.parent_id, child.depth, child.workspace_id], [sessionId, 1, workspace_id]);
    await until(async () =>
      text(await client.callTool({ name: 'session_events', arguments: { session_id: spawned.session_id } })).includes(
        '"text":"23"',
      ),
    );
    const asked = async (name: string, args: object): Promise<any> =>
      JSON.parse(text(await client.callTool({ name, arguments: { session_id: child.id, ...args } })));
    const next = await asked('session_message', { message: '20 + 4' });
    assert.deepEqual([next.session_id, next.spawned, next.turn], [child.id, false, 2]);
    const two = await asked('session_events', { since_index: 0, max_events: 2 });
    assert.deepEqual(
      two.events.map((event: any) => event.index),
      [1, 2],
    );
    const named = JSON.parse(
      text(await client.callTool({ name: 'session_message', arguments: { message: '1', model: 'small' } })),
    );
    assert.equal((await value(server, 'session_get', { session_id: named.session_id })).model, 'small');
    const nobody = { name: 'session_message', arguments: { message: '1', agent: 'nobody' } };
    assert.match(text(await client.callTool(nobody)), /nobody/);
    assert.equal(
      (await client.callTool({ name: 'session_events', arguments: { session_id: other.sessionId } })).isError,
      true,
    );
    assert.equal(
      (await client.callTool({ name: 'session_message', arguments: { session_id: other.sessionId, message: '1' } }))
        .isError,
      true,
    );
  });

  it('frees the caller when the agent gives a call up', async () => {
    const { socket, sessionId } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'ask' }] });
    const { client } = await start(socket);
    const stream = await eventStream(server, sessionId);
    const stop = new AbortController();
    const call = client.callTool({ name: 'ant_ask', arguments: {} }, { signal: stop.signal });
    const given = assert.rejects(call, /give up/);
    const { data } = await stream.next((frame) => frame.event === 'caller_tool_request');
    stop.abort(new Error('give up'));
    await given;
    await stream.next((frame) => frame.event === 'caller_tool_answer' && frame.data.request_id === data.request_id);
    const late = { session_id: sessionId, request_id: data.request_id, result: 'late' };
    const { body } = await server.ask('POST', '/call/caller_tool_response', { args: late });
    assert.equal(body.error.code, 'ask.closed');
    stream.close();
  });

  it('keeps a call pending over a server restart and runs nothing twice', async () => {
    const { socket, sessionId } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'ask' }] });
    const { client } = await start(socket, key);
    const first = await eventStream(server, sessionId);
    const call = client.callTool({ name: 'ant_ask', arguments: { n: 1 } });
    const asked = await first.next((frame) => frame.event === 'caller_tool_request');
    await server.close();
    server = await testServer({ home: server.home });
    first.close();
    const second = await eventStream(server, sessionId, server.token, asked.data.index);
    await second.next((frame) => frame.event === 'ask_pending' && frame.data.request_id === asked.data.request_id);
    await value(server, 'caller_tool_response', {
      session_id: sessionId,
      request_id: asked.data.request_id,
      result: 'after the restart',
    });
    assert.equal(text(await call), 'after the restart');
    const requests = (await value(server, 'session_events', { session_id: sessionId, max_events: 1000 })).events.filter(
      (event: any) => event.type === 'caller_tool_request',
    );
    assert.equal(requests.length, 1);
    assert.equal((await client.callTool({ name: 'oubliette_project_list', arguments: {} })).isError, false);
    second.close();
  });

  it('runs a call that was made while the server was away, once it is back', async () => {
    const { socket } = await begin();
    const { client } = await start(socket, key);
    await client.listTools();
    await server.close();
    const call = client.callTool({ name: 'run', arguments: { code: '20 + 1' } });
    server = await testServer({ home: server.home });
    assert.deepEqual(await call.then((result) => [result.isError, text(result)]), [false, '21']);
  });

  it('fails what is pending at once when the session ends, and says that it is over', async () => {
    const { socket, sessionId } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'ask' }] });
    const { client } = await start(socket);
    const raw = await rawRelay(socket);
    const stream = await eventStream(server, sessionId);
    const call = client.callTool({ name: 'ant_ask', arguments: { n: 1 } });
    await stream.next((frame) => frame.event === 'caller_tool_request' && frame.data.arguments.n === 1);
    const rawCall = raw.ask('caller_tool', { tool: 'ask', arguments: { n: 2 } }, 7);
    await stream.next((frame) => frame.event === 'caller_tool_request' && frame.data.arguments.n === 2);
    const ended = value(server, 'session_end', { session_id: sessionId }).then(() => performance.now());
    const result: any = await call;
    const answeredAt = performance.now();
    assert.equal(result.isError, true);
    assert.match(text(result), /over/);
    assert.ok((await rawCall).error);
    await raw.next((message) => message.method === 'session_over');
    assert.ok(answeredAt - (await ended) < 5_000, 'not only after the time it gives a server to come back');
    assert.match(text(await client.callTool({ name: 'run', arguments: { code: '1' } })), /the session is over/);
    stream.close();
    raw.close();
  });

  it('tells whoever calls a bundle of the embedded agent directly to do it inside run', async () => {
    const { sessionId } = await begin();
    const { text } = await turn(server, { session_id: sessionId, message: 'demo.foo(text="hi")' });
    assert.match(text, /there is no pack 'demo'[^]*\nTools of bundles are called inside run: run\(code=/);
  });

  it('lets programs of the embedded agent keep long integers, and has them refused as arguments', async () => {
    const { sessionId } = await begin({ caller_id: 'ant', caller_tools: [{ name: 'hi', inputSchema: schema }] });
    const said = async (message: string): Promise<string> =>
      (await turn(server, { session_id: sessionId, message })).text;
    assert.equal(await said('[2**60 + 1]'), '[1152921504606846977]');
    assert.match(
      await said('ant_hi(message=2**60 + 1)'),
      /\/args\/message is 1152921504606846977, an integer too long/,
    );
  });

  it('finds the socket of a session that is resumed the moment it ended', async () => {
    const { sessionId, socket } = await begin();
    const lingering = await rawRelay(socket);
    for (let round = 0; round < 3; round++) {
      await value(server, 'session_end', { session_id: sessionId });
      assert.equal((await turn(server, { session_id: sessionId, message: 'run(code="40 + 2")' })).text, '42');
    }
    lingering.close();
  });

  it('fails what is pending when no server comes back in time', async () => {
    const folder = join(server.home, 'gone.sock');
    const fake = createServer((socket) => {
      socket.write(
        `${JSON.stringify({ method: 'caller_tools_config', params: { caller_id: 'ant', tools: [{ name: 'x' }], reconnect_grace_ms: 300 } })}\n`,
      );
      socket.on('error', () => {});
      socket.on('data', () => {
        socket.destroy();
        fake.close();
      });
    }).listen(folder);
    await once(fake, 'listening');
    const { client } = await start(folder);
    const result: any = await client.callTool({ name: 'ant_x', arguments: {} });
    assert.equal(result.isError, true);
    assert.match(text(result), /did not come back/);
  });
});
