import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { lentSession, questionOn, type LentSession } from '../kit/lent-session.ts';
import { patient } from '../kit/patience.ts';
import { rawRelay } from '../kit/relay-socket.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { events, value } from '../kit/session.ts';
import { until } from '../kit/until.ts';

const tools = { caller_id: 'ant', caller_tools: [{ name: 'ask' }] };
const callerTimeoutMs = 1500;

describe('a caller that comes and goes', () => {
  let server: TestServer;
  let projectId: string;
  let owner: { id: string; token: string };
  const open: LentSession[] = [];
  before(async () => {
    server = await testServer({
      config: `limits: { sessionsPerProject: 30, callerTimeoutMs: ${callerTimeoutMs}, reconnectGraceMs: 1000 }\n`,
    });
    projectId = (await value(server, 'project_create', { name: 'presence' })).id;
    owner = await value(server, 'token_create', { name: 'ant', scope: 'write' });
  });
  after(async () => {
    for (const each of open) each.close();
    for (const { id, status } of (await value(server, 'session_list', {})).sessions)
      if (status !== 'ended') await value(server, 'session_end', { session_id: id });
    await server.remove();
  });

  const begin = async (context: Record<string, unknown> = {}, token = owner.token): Promise<LentSession> => {
    const lent = await lentSession(server, projectId, token, { ...tools, ...context });
    open.push(lent);
    return lent;
  };
  const ask = ({ relay }: LentSession, args: object = {}): Promise<any> =>
    relay.ask('caller_tool', { tool: 'ask', arguments: args });
  const outcomes = async ({ sessionId }: LentSession): Promise<string[]> =>
    (await events(server, sessionId))
      .filter((event) => event.type === 'caller_tool_answer')
      .map((event) => event.outcome);

  it('is waited for as long as the configuration says, where the declaration says nothing', async () => {
    const lent = await begin();
    const started = performance.now();
    const { error } = await ask(lent);
    assert.deepEqual([error.code, error.message], [-32003, 'caller tool timed out after 1.5 s']);
    assert.ok(performance.now() - started >= callerTimeoutMs);
    assert.deepEqual(await outcomes(lent), ['timeout']);
  });

  it('is there while one of its streams is open', async () => {
    const lent = await begin({ timeout_ms: 60_000 });
    const [first, second] = [await lent.follow(), await lent.follow()];
    const call = ask(lent);
    const { request_id } = (await questionOn(second, 'ask')).data;
    first.close();
    // Opened after the other was cut, so that the server has had time to notice the cut.
    await (await lent.follow()).next((frame) => frame.event === 'caller_tool_request');
    assert.equal((await lent.respond(request_id, { result: 'still here' })).status, 200);
    assert.equal((await call).result, 'still here');
  });

  it('is gone at once when its token is revoked', async () => {
    const leaving = await value(server, 'token_create', { name: 'leaving', scope: 'write' });
    const lent = await begin({ timeout_ms: 60_000 }, leaving.token);
    const call = ask(lent);
    const stream = await lent.follow();
    await questionOn(stream, 'ask');
    const started = performance.now();
    await value(server, 'token_revoke', { token_id: leaving.id });
    assert.equal((await call).error.code, -32004);
    assert.ok(performance.now() - started < patient(1000));
  });

  it('that declares its tools again without listening only polls from then on', async () => {
    const lent = await begin();
    const stream = await lent.follow();
    const call = ask(lent);
    await questionOn(stream, 'ask');
    stream.close();
    assert.equal((await call).error.code, -32004);
    assert.equal((await ask(lent)).error.code, -32004, 'it was there, and is not waited for');
    await lent.send({ message: '2', context: tools });
    assert.equal((await ask(lent)).error.code, -32003, 'it is waited for until the deadline');
  });

  it('is waited for, when it says so, also where it was away as the question came', async () => {
    const lent = await begin({ on_disconnect: 'wait', timeout_ms: 300 });
    (await lent.follow()).close();
    // By the time of the second question at the latest, the server knows that nobody is there.
    for (let question = 0; question < 3; question++)
      assert.equal((await ask(lent)).error.code, -32003, 'only the deadline ends it');
  });

  it('is told that its answer is not wanted any more when the session ends', async () => {
    const lent = await begin({ timeout_ms: 60_000 });
    const stream = await lent.follow();
    const call = ask(lent);
    const { request_id } = (await questionOn(stream, 'ask')).data;
    await value(server, 'session_end', { session_id: lent.sessionId }, owner.token);
    assert.ok((await call).error);
    const { data } = await stream.next((frame) => frame.event === 'caller_tool_answer');
    assert.deepEqual([data.request_id, data.outcome], [request_id, 'disconnected']);
    assert.equal((await lent.respond(request_id, { result: 1 })).body.error.code, 'ask.closed');
  });

  it('has a moment to come back after a restart of the server, and is gone when it does not', async () => {
    const lent = await begin({ timeout_ms: 60_000 });
    const stream = await lent.follow();
    const id = `call_${'restart'.repeat(4)}`;
    void lent.relay.ask('caller_tool', { tool: 'ask', arguments: {} }, id);
    await questionOn(stream, 'ask');
    await server.close();
    server = await testServer({ home: server.home });
    const back = performance.now();
    const { relay_socket } = await value(server, 'session_get', { session_id: lent.sessionId });
    const relay = await rawRelay(relay_socket);
    const call = { id, method: 'caller_tool', params: { tool: 'ask', arguments: {} }, again: true };
    relay.send(`${JSON.stringify(call)}\n`);
    assert.equal((await relay.next((message) => message.id === id)).error.code, -32004);
    assert.ok(performance.now() - back < patient(5000), 'not only at the deadline');
    assert.deepEqual(await outcomes(lent), ['disconnected']);
    relay.close();
  });

  it('may be an MCP client, and is gone when that one is', async () => {
    const client = new Client({ name: 'caller', version: '1' });
    const headers = { authorization: `Bearer ${owner.token}` };
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } });
    await client.connect(transport);
    const heard: any[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data));
    const lent = await begin({ timeout_ms: 60_000 });
    await client.callTool({
      name: 'session_message',
      arguments: { session_id: lent.sessionId, message: '2', context: { ...tools, timeout_ms: 60_000 } },
    });
    const call = ask(lent);
    await until(() => heard.some((event) => event.type === 'caller_tool_request'));
    const started = performance.now();
    await client.close();
    assert.equal((await call).error.code, -32004);
    assert.ok(performance.now() - started < patient(1000));
  });

  it('can be helped out by an admin of its project', async () => {
    const lent = await begin({ timeout_ms: 60_000 });
    const stream = await lent.follow();
    const call = ask(lent);
    const { request_id } = (await questionOn(stream, 'ask')).data;
    const elsewhere = await value(server, 'project_create', { name: 'elsewhere' });
    const narrowed = { name: 'narrowed', scope: 'admin', projects: [elsewhere.id] };
    const { token } = await value(server, 'token_create', narrowed);
    assert.equal((await lent.respond(request_id, { result: 'stranger' }, token)).status, 404);
    const { pending_asks } = await value(server, 'session_get', { session_id: lent.sessionId });
    assert.deepEqual(
      pending_asks.map((each: any) => [each.request_id, each.kind, each.tool]),
      [[request_id, 'caller_tool', 'ask']],
    );
    assert.equal((await lent.respond(request_id, { result: 'admin' }, server.token)).status, 200);
    assert.equal((await call).result, 'admin');
  });
});
