import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventStream, type EventStream } from '../kit/event-stream.ts';
import { lentSession, questionOn } from '../kit/lent-session.ts';
import type { RawRelay } from '../kit/relay-socket.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { completed, events, turn, value } from '../kit/session.ts';
import { patient } from '../kit/patience.ts';

const schema = {
  type: 'object',
  properties: { message: { type: 'string' } },
  required: ['message'],
  additionalProperties: false,
};
const sendResponse = { name: 'send_response', description: 'Send a message', inputSchema: schema };

describe('tools that a caller lends to an agent', () => {
  let server: TestServer;
  let projectId: string;
  let owner: string;
  const open: { close(): void }[] = [];
  before(async () => {
    server = await testServer({ config: 'limits: { sessionsPerProject: 30, reconnectGraceMs: 500 }\n' });
    projectId = (await value(server, 'project_create', { name: 'callers' })).id;
    owner = (await value(server, 'token_create', { name: 'ant', scope: 'write' })).token;
  });
  after(async () => {
    for (const each of open) each.close();
    for (const { id, status } of (await value(server, 'session_list', {})).sessions)
      if (status !== 'ended') await value(server, 'session_end', { session_id: id });
    await server.remove();
  });

  /** A session of the owner with lent tools; its socket and, unless told not to, a stream of the owner. */
  const begin = async (context: Record<string, unknown> = {}, withStream = true) => {
    const lent = await lentSession(server, projectId, owner, {
      caller_id: 'ant',
      caller_tools: [sendResponse, { name: 'slow_tool' }],
      ...context,
    });
    open.push(lent);
    return { sessionId: lent.sessionId, relay: lent.relay, stream: (withStream ? await lent.follow() : undefined)! };
  };
  const request = (stream: EventStream, tool = 'send_response') => questionOn(stream, tool);
  const respond = (session_id: string, request_id: string, answer: object, token = owner) =>
    server.ask('POST', '/call/caller_tool_response', { args: { session_id, request_id, ...answer } }, token);

  it('an agent in a sandbox calls one as a native tool and gets the answer', async () => {
    const sent = await value(
      server,
      'session_message',
      {
        project_id: projectId,
        create_workspace: true,
        message: 'ant_send_response(message="hello")',
        context: { caller_id: 'ant', caller_tools: [sendResponse] },
      },
      owner,
    );
    const stream = await eventStream(server, sent.session_id, owner);
    open.push(stream);
    const asked = await request(stream);
    assert.deepEqual(
      [asked.data.type, asked.data.tool, asked.data.arguments],
      ['caller_tool_request', 'send_response', { message: 'hello' }],
    );
    assert.match(asked.data.request_id, /^ask_/);
    assert.ok(Date.parse(asked.data.deadline) > Date.now() + 50_000);
    assert.deepEqual(
      (await respond(sent.session_id, asked.data.request_id, { result: { status: 'sent' }, error: null })).body.value,
      {
        request_id: asked.data.request_id,
        accepted: true,
      },
    );
    assert.deepEqual(JSON.parse(await completed(server, sent.session_id, sent.turn)), { status: 'sent' });
  });

  it('is announced to every client with its schema, replaced by a later declaration', async () => {
    const { sessionId, relay } = await begin();
    const other = await begin();
    const greeting = await relay.next((message) => message.method === 'caller_tools_config');
    assert.deepEqual(
      [greeting.params.caller_id, greeting.params.tools],
      ['ant', [sendResponse, { name: 'slow_tool' }]],
    );
    await turn(
      server,
      { session_id: sessionId, message: '2', caller_id: 'bee', caller_tools: [{ name: 'other' }] },
      owner,
    );
    const changed = await relay.next(
      (message) => message.method === 'caller_tools_config' && message.params.caller_id === 'bee',
    );
    assert.deepEqual(changed.params.tools, [{ name: 'other' }]);
    await other.relay.ask('caller_tool', {});
    const told = other.relay.messages.filter((message) => message.method === 'caller_tools_config');
    assert.equal(told.length, 1, 'another session hears nothing of it');
    const gone = await relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'x' } });
    assert.equal(gone.error.code, -32602);
  });

  it('can be used by the very message that brings it', async () => {
    const { sessionId, stream } = await begin();
    // From here on the client in the sandbox is connected and has to be told.
    await turn(server, { session_id: sessionId, message: 'tools()' }, owner);
    const context = { caller_id: 'ant', caller_tools: [{ name: 'brought' }] };
    const text = turn(server, { session_id: sessionId, message: 'ant_brought(n=2)', context }, owner);
    const { data } = await request(stream, 'brought');
    assert.deepEqual([data.turn, data.arguments], [3, { n: 2 }]);
    await respond(sessionId, data.request_id, { result: 'used' });
    assert.equal((await text).text, 'used');
  });

  it('stays lent when a later message says nothing of it', async () => {
    const { sessionId, relay, stream } = await begin();
    await turn(server, { session_id: sessionId, message: '2' }, owner);
    const call = relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'x' } });
    await respond(sessionId, (await request(stream)).data.request_id, { result: 'still' });
    assert.equal((await call).result, 'still');
    const shown = await value(server, 'session_get', { session_id: sessionId }, owner);
    assert.deepEqual([shown.caller_id, shown.caller_tools], ['ant', [sendResponse, { name: 'slow_tool' }]]);
    assert.ok(!('relay_socket' in shown), 'where the socket lies on the host is for an admin');
  });

  it('relays result and error over the socket as they are, several at once and out of order', async () => {
    const { sessionId, relay, stream } = await begin();
    const calls = Array.from({ length: 5 }, (_, i) =>
      relay.ask('caller_tool', { tool: 'send_response', arguments: { message: `m${i}` } }, `c${i}`),
    );
    const asked = await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        stream.next((frame) => frame.event === 'caller_tool_request' && frame.data.arguments.message === `m${i}`),
      ),
    );
    assert.equal(new Set(asked.map((frame) => frame.data.request_id)).size, 5);
    for (const i of [3, 1, 4, 0]) await respond(sessionId, asked[i]!.data.request_id, { result: { i } });
    await respond(sessionId, asked[2]!.data.request_id, { error: 'recipient not found', result: null });
    const answers = await Promise.all(calls);
    assert.deepEqual(
      [0, 1, 3, 4].map((i) => answers[i].result),
      [{ i: 0 }, { i: 1 }, { i: 3 }, { i: 4 }],
    );
    assert.deepEqual(
      [answers[2].error.code, answers[2].error.message, answers[2].error.data.code],
      [-32000, 'recipient not found', 'caller.failed'],
    );
    const kinds = (await events(server, sessionId))
      .filter((event) => event.type === 'caller_tool_answer')
      .map((event) => event.outcome);
    assert.deepEqual(kinds.toSorted(), ['error', 'result', 'result', 'result', 'result']);
  });

  it('takes null, text and no answer at all as results', async () => {
    const { sessionId, relay, stream } = await begin();
    for (const [answer, result] of [
      [{ result: null }, null],
      [{ result: 'plain' }, 'plain'],
      [{}, null],
      [{ result: [1], error: null }, [1]],
    ] as const) {
      const before = stream.frames.length;
      const call = relay.ask('caller_tool', { tool: 'slow_tool', arguments: {} });
      const asked = await stream.next(
        (frame) => stream.frames.indexOf(frame) >= before && frame.event === 'caller_tool_request',
      );
      await respond(sessionId, asked.data.request_id, answer);
      assert.deepEqual((await call).result, result);
    }
  });

  it('checks arguments before the caller is bothered', async () => {
    const { sessionId, relay } = await begin();
    const { error } = await relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 7 } });
    assert.deepEqual([error.code, error.data.code], [-32602, 'args.invalid']);
    assert.match(error.message, /message/);
    const unknown = (await relay.ask('caller_tool', { tool: 'nothing', arguments: {} })).error;
    assert.deepEqual(
      [unknown.code, unknown.message],
      [-32602, 'nothing is not declared by the caller of this session'],
    );
    assert.equal((await relay.ask('caller_tool', {})).error.code, -32602);
    assert.ok(!(await events(server, sessionId)).some((event) => event.type === 'caller_tool_request'));
  });

  it('times out at its second and not before', async () => {
    const { relay, sessionId, stream } = await begin({ timeout_ms: 1500 });
    const started = performance.now();
    const { error } = await relay.ask('caller_tool', { tool: 'slow_tool', arguments: {} });
    const took = performance.now() - started;
    assert.deepEqual(
      [error.code, error.message, error.data.code],
      [-32003, 'caller tool timed out after 1.5 s', 'caller.timeout'],
    );
    assert.ok(took >= 1500 && took < patient(3000), `${took} ms`);
    const asked = await request(stream, 'slow_tool');
    const late = await respond(sessionId, asked.data.request_id, { result: 1 });
    assert.deepEqual([late.status, late.body.error.code], [409, 'ask.closed']);
  });

  it('waits sixty seconds unless told otherwise', async () => {
    const { relay, stream } = await begin();
    void relay.ask('caller_tool', { tool: 'slow_tool', arguments: {} }).catch(() => {});
    const asked = await request(stream, 'slow_tool');
    const left = Date.parse(asked.data.deadline) - Date.parse(asked.data.at);
    // An event is dated before it may be stored, and its deadline counts from when it is.
    assert.ok(left >= 60_000 && left < 60_000 + patient(1000), `${left} ms`);
  });

  it('fails at once when the caller goes away, within a second', async () => {
    const { relay, stream, sessionId } = await begin();
    const call = relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'x' } });
    await request(stream);
    const started = performance.now();
    stream.close();
    const { error } = await call;
    assert.deepEqual(
      [error.code, error.message, error.data.code],
      [-32004, 'caller disconnected', 'caller.disconnected'],
    );
    assert.ok(performance.now() - started < patient(1000));
    const next = await relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'y' } });
    assert.equal(next.error.code, -32004, 'a caller that was there and is gone is not waited for');
    assert.ok(
      (await events(server, sessionId)).some(
        (event) => event.type === 'caller_tool_answer' && event.outcome === 'disconnected',
      ),
    );
  });

  it('observers do not count as the caller', async () => {
    const { relay, stream, sessionId } = await begin();
    const observer = await eventStream(server, sessionId, server.token);
    open.push(observer);
    const call = relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'x' } });
    await request(observer);
    stream.close();
    assert.equal((await call).error.code, -32004);
  });

  it('waits for a caller that comes back when on_disconnect says so, and announces the request again', async () => {
    const { relay, stream, sessionId } = await begin({ on_disconnect: 'wait', timeout_ms: 20_000 });
    const call = relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'x' } });
    const asked = await request(stream);
    stream.close();
    const back = await eventStream(server, sessionId, owner, asked.data.index);
    open.push(back);
    const again = await back.next((frame) => frame.event === 'ask_pending');
    assert.equal(again.data.request_id, asked.data.request_id);
    assert.equal(again.id, undefined, 'it is not stored twice');
    const earlier = await eventStream(server, sessionId, owner, asked.data.index - 1);
    open.push(earlier);
    await request(earlier);
    assert.ok(!earlier.frames.some((frame) => frame.event === 'ask_pending'), 'who reads the request is told once');
    await respond(sessionId, asked.data.request_id, { result: 'late but fine' });
    assert.equal((await call).result, 'late but fine');
  });

  it('waits for a caller that only polls until the deadline', async () => {
    const { relay, sessionId } = await begin({ timeout_ms: 10_000 }, false);
    const call = relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'poll' } });
    let found: any;
    while (!found) found = (await events(server, sessionId)).find((event) => event.type === 'caller_tool_request');
    await respond(sessionId, found.request_id, { result: 'polled' });
    assert.equal((await call).result, 'polled');
  });

  it('is answered once, by the owner alone, for its own session', async () => {
    const { relay, stream, sessionId } = await begin();
    const other = await begin();
    const stranger = (await value(server, 'token_create', { name: 'stranger', scope: 'write' })).token;
    const reader = (await value(server, 'token_create', { name: 'reader', scope: 'read' })).token;
    const call = relay.ask('caller_tool', { tool: 'send_response', arguments: { message: 'x' } });
    const { request_id } = (await request(stream)).data;
    assert.equal((await respond(sessionId, request_id, { result: 1 }, stranger)).status, 404);
    assert.equal((await respond(sessionId, request_id, { result: 1 }, reader)).status, 403);
    assert.equal((await respond(other.sessionId, request_id, { result: 1 })).status, 404);
    assert.equal((await respond(sessionId, 'ask_none', { result: 1 })).status, 404);
    assert.equal((await respond(sessionId, request_id, { result: 1, error: 'x' })).status, 400);
    assert.equal((await respond(sessionId, request_id, { result: 'mine' })).status, 200);
    assert.deepEqual((await respond(sessionId, request_id, { result: 'again' })).body.error.code, 'ask.closed');
    assert.equal((await call).result, 'mine');
  });

  it('can be asked for 512 times at once on a connection, and not once more', async () => {
    const { relay } = await begin({}, false);
    const ask = (id: string): void =>
      relay.send(`${JSON.stringify({ id, method: 'caller_tool', params: { tool: 'slow_tool', arguments: {} } })}\n`);
    for (let open = 1; open <= 512; open++) ask(`open-${open}`);
    ask('more');
    const { error } = await relay.next((message) => message.error !== undefined);
    assert.deepEqual([error.code, error.message], [-32000, 'more than 512 requests are open']);
    assert.deepEqual(
      relay.messages.filter((message) => message.id !== undefined).map((message) => message.id),
      ['more'],
    );
    relay.close();
  });

  it('can be cancelled by the agent, which frees the caller', async () => {
    const { relay, stream, sessionId } = await begin();
    const call = relay.ask('caller_tool', { tool: 'slow_tool', arguments: {} }, 'to-cancel');
    const { request_id } = (await request(stream, 'slow_tool')).data;
    relay.send(`${JSON.stringify({ method: 'cancel', params: { id: 'to-cancel' } })}\n`);
    assert.ok((await call).error);
    const { data } = await stream.next((frame) => frame.event === 'caller_tool_answer');
    assert.deepEqual([data.request_id, data.outcome], [request_id, 'error']);
    assert.equal((await respond(sessionId, request_id, { result: 1 })).body.error.code, 'ask.closed');
  });

  it('is for the session alone, unless its caller lets children inherit it and answers them too', async () => {
    const spawn = async (
      { relay }: { relay: RawRelay },
      message: string,
    ): Promise<{ session_id: string; turn: number }> => (await relay.ask('session_message', { message })).result;
    const [closed, inherited] = [await begin(), await begin({ inherit: true })];
    const without = await spawn(closed, '[name for name in tools() if name.startswith("ant_")]');
    assert.equal(await completed(server, without.session_id, without.turn), '[]');
    const within = await spawn(inherited, 'ant_send_response(message="from below")');
    const { data } = await request(inherited.stream);
    assert.deepEqual([data.session_id, data.arguments], [inherited.sessionId, { message: 'from below' }]);
    assert.equal((await respond(inherited.sessionId, data.request_id, { result: 'heard' })).status, 200);
    assert.equal(await completed(server, within.session_id, within.turn), 'heard');
  });

  it('refuses names that would hide other tools, and schemas that cannot be used', async () => {
    const declare = (context: object) =>
      server.ask(
        'POST',
        '/call/session_message',
        { args: { project_id: projectId, create_workspace: true, message: '1', context } },
        owner,
      );
    for (const context of [
      { caller_id: 'oubliette', caller_tools: [{ name: 'x' }] },
      { caller_id: 'session', caller_tools: [{ name: 'message' }] },
      { caller_id: 'a b', caller_tools: [] },
      { caller_id: 'a', caller_tools: [{ name: 'b c' }] },
      { caller_id: 'a', caller_tools: [{ name: 'x' }, { name: 'x' }] },
      { caller_id: 'a', caller_tools: [{ name: 'x', inputSchema: { type: 'nonsense' } }] },
      { caller_id: 'a', caller_tools: [{ name: 'x', inputSchema: { type: 'array' } }] },
      { caller_tools: [{ name: 'x' }] },
    ])
      assert.equal((await declare(context)).status, 400, JSON.stringify(context));
  });
});
