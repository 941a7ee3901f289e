import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

let server: TestServer;
let projectId: string;
before(async () => {
  server = await startTestServer();
  const made = await server.fetch('/call/project_create', { method: 'POST', json: { args: { name: 'mcp' } } });
  projectId = ((await made.json()) as { value: { id: string } }).value.id;
});
after(() => server.stop());

async function connect(mode: VersionNegotiationMode): Promise<Client> {
  const client = new Client({ name: 'caller', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${server.token}` } },
    }),
  );
  return client;
}

test(
  'a 2025 caller gets the events of its session as log messages, and answers its caller tools',
  { timeout: 280_000 },
  async () => {
    const client = await connect('legacy');
    const events: any[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => {
      if (params.logger === 'oubliette.session') events.push(params.data);
    });
    const context = {
      caller_id: 'ant',
      caller_tools: [
        {
          name: 'greet',
          description: 'Greets',
          inputSchema: { type: 'object', properties: { who: { type: 'string' } } },
        },
      ],
    };
    const started = await client.callTool({
      name: 'session_message',
      arguments: { project_id: projectId, create_workspace: true, message: 'ant_greet(who="Ada")', context },
    });
    const { session_id: sessionId } = started.structuredContent as { session_id: string };
    const asked = await until(() => events.find((each) => each.type === 'caller_tool_request'), 30_000);
    assert.deepEqual(asked.arguments, { who: 'Ada' });
    await client.callTool({
      name: 'caller_tool_response',
      arguments: { session_id: sessionId, request_id: asked.request_id, result: 'Hello Ada' },
    });
    const done = await until(() => events.find((each) => each.type === 'completion'), 30_000);
    assert.match(done.text, /Hello Ada/);
    assert.deepEqual(
      events.map((each) => each.index),
      events.map((_, at) => at),
      'each event once and in order',
    );
    await client.callTool({ name: 'session_end', arguments: { session_id: sessionId } });
    await client.close();
  },
);

test('a 2026 caller is woken by a resource and reads the events', { timeout: 280_000 }, async () => {
  const client = await connect({ pin: '2026-07-28' });
  const started = await client.callTool({
    name: 'session_message',
    arguments: { project_id: projectId, message: '20 + 22' },
  });
  const { session_id: sessionId } = started.structuredContent as { session_id: string };
  const uri = `oubliette://sessions/${sessionId}/events`;
  let woken = 0;
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void (params.uri === uri && woken++),
  );
  const stream = await client.listen({ resourceSubscriptions: [uri] });
  await client.callTool({ name: 'session_message', arguments: { session_id: sessionId, message: '1 + 1' } });
  await until(() => woken > 0, 30_000);
  const read = async () => JSON.stringify((await client.readResource({ uri })).contents);
  await until(async () => (await read()).includes('42'));
  await assert.rejects(client.readResource({ uri: 'oubliette://sessions/ses_nothing/events' }), /not found/i);
  await stream.close();
  await client.callTool({ name: 'session_end', arguments: { session_id: sessionId } });
  await client.close();
});

test('a revoked token loses its streams', { timeout: 280_000 }, async () => {
  const made = await server.fetch('/call/token_create', {
    method: 'POST',
    json: { args: { name: 'short', scope: 'read' } },
  });
  const { id, token } = ((await made.json()) as { value: { id: string; token: string } }).value;
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  };
  const opened = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body: JSON.stringify(hello) });
  await opened.text();
  const stream = await fetch(`${server.url}/mcp`, {
    headers: { ...headers, 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' },
  });
  assert.equal(stream.status, 200);
  await server.fetch('/call/token_revoke', { method: 'POST', json: { args: { token_id: id } } });
  await assert.rejects(stream.text());
});

test('following a session that is not there is refused as an unknown resource, not as trouble of the server', async () => {
  const client = await connect('legacy');
  const uri = 'oubliette://sessions/ses_none/events';
  await assert.rejects(client.subscribeResource({ uri }), (error: { code: number; message: string }) => {
    assert.equal(error.code, -32602);
    assert.match(error.message, /Resource not found/);
    return true;
  });
  await client.close();
});
