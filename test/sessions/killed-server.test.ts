import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';
import { openStream } from './sse.ts';

let home: string;
let server: TestServer;
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-kill-'));
  // The agent waits for a server that takes its time to start on a busy machine.
  await writeFile(join(home, 'config.yaml'), 'limits: { reconnectGraceMs: 120000, callerTimeoutMs: 240000 }\n');
  server = await startTestServer({ home });
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

const call = async (name: string, args: object): Promise<any> => {
  const response = await server.fetch(`/call/${name}`, { method: 'POST', json: { args } });
  const body: any = await response.json();
  assert.ok(body.ok, JSON.stringify(body));
  return body.value;
};

test('a server that is killed in mid-turn takes the turn up again, and the log has no gap', async () => {
  const project = await call('project_create', { name: 'killed' });
  const caller_tools = [{ name: 'fetch', inputSchema: { type: 'object', properties: { n: { type: 'integer' } } } }];
  const { session_id } = await call('session_message', {
    project_id: project.id,
    message: '[ant_fetch(n=1), ant_fetch(n=2)]',
    context: { caller_id: 'ant', caller_tools },
  });
  let stream = await openStream(`${server.url}/sessions/${session_id}/events`, server.token);
  const first = await stream.until((frame) => frame.event === 'caller_tool_request');
  const seen = stream.frames.filter((frame) => frame.id !== undefined);

  await server.kill();
  await stream.closed;
  server = await startTestServer({ home });

  stream = await openStream(`${server.url}/sessions/${session_id}/events`, server.token, {
    'last-event-id': String(first.id),
  });
  const pending = await stream.until((frame) => frame.event === 'ask_pending');
  assert.equal(pending.data.request_id, first.data.request_id);
  await call('caller_tool_response', { session_id, request_id: first.data.request_id, result: 'one' });
  const second = await stream.until((frame) => frame.event === 'caller_tool_request' && frame.data.arguments.n === 2);
  await call('caller_tool_response', { session_id, request_id: second.data.request_id, result: 'two' });
  const done = await stream.until((frame) => frame.event === 'completion');
  assert.deepEqual(JSON.parse(done.data.text), ['one', 'two']);
  await stream.until((frame) => frame.data.status === 'idle');
  const all = [...seen, ...stream.frames.filter((frame) => frame.id !== undefined)];
  assert.deepEqual(
    all.map((frame) => frame.id),
    all.map((_, index) => index),
  );
  const stored = await call('session_events', { session_id, max_events: 1000 });
  assert.deepEqual(
    stored.events.map((event: any) => event.index),
    all.map((_, index) => index),
  );
  assert.equal(stored.events.filter((event: any) => event.type === 'caller_tool_request').length, 2);
  stream.close();
  await call('session_end', { session_id });
});

test('a server that stops leaves the sandbox running, and the next one ends it', async () => {
  const project = await call('project_create', { name: 'stopped' });
  const { session_id } = await call('session_message', { project_id: project.id, message: '40 + 2' });
  const idle = async (): Promise<boolean> => (await call('session_get', { session_id })).status === 'idle';
  await until(idle);
  assert.equal(await server.stop(), 0);
  server = await startTestServer({ home });
  await until(idle);
  await call('session_message', { session_id, message: '6 * 7' });
  await until(
    async () =>
      (await call('session_events', { session_id })).events.some(
        (event: any) => event.type === 'completion' && event.turn === 2,
      ),
    20_000,
  );
  const { events } = await call('session_events', { session_id });
  assert.deepEqual(
    events.map((event: any) => event.index),
    events.map((_: any, index: number) => index),
  );
  assert.equal((await call('session_end', { session_id })).status, 'ended');
  assert.deepEqual(await call('project_delete', { project_id: project.id }), { id: project.id, deleted: true });
});
