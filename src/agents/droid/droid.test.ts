import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import type { AgentSpec } from '../agent.ts';
import { converse, type Conversation } from '../fixtures/conversation.ts';
import { droidDriver, droidFiles } from './droid.ts';

const program = new URL('../fixtures/scripted-droid.ts', import.meta.url).pathname;

function start(t: TestContext, over: Partial<AgentSpec> = {}): Conversation {
  const spec: AgentSpec = {
    config: { driver: 'droid' },
    cwd: '/workspace',
    mcpServers: [],
    permissions: 'ask',
    ...over,
  };
  const conversation = converse(droidDriver, spec, [process.execPath, program]);
  t.after(() => conversation.close());
  return conversation;
}
const say = (conversation: Conversation, text: string): void =>
  conversation.do((driver, state) => driver.prompt(state, { text }));

test('a turn of droid becomes the same events as any other agent has', async (t) => {
  const conversation = start(t);
  say(conversation, 'look');
  await conversation.until((event) => event.type === 'completion');
  assert.deepEqual(conversation.events, [
    { type: 'thought', text: 'hm' },
    { type: 'tool_call', call_id: 't1', tool: 'LS', arguments: { path: '/' } },
    { type: 'tool_result', call_id: 't1', is_error: false, text: 'bin etc' },
    { type: 'message', role: 'agent', text: 'two folders', message_id: 'msg_1' },
    { type: 'usage', input_tokens: 7, output_tokens: 3, cost_usd: 0 },
    { type: 'completion', stop_reason: 'end_turn', text: 'two folders' },
  ]);
  assert.equal(conversation.state.agentSession, 'd1');
});

test('a droid that only goes idle ends its turn as well', async (t) => {
  const conversation = start(t);
  say(conversation, 'old');
  const end = await conversation.until((event) => event.type === 'completion');
  assert.equal(end.type === 'completion' && end.text, 'two folders');
});

test('its permission requests are handed out and answered', async (t) => {
  const conversation = start(t);
  say(conversation, 'ask');
  const asked = await conversation.until((event) => event.type === 'permission_request');
  assert.ok(asked.type === 'permission_request');
  assert.deepEqual(
    [asked.tool, asked.options.map((option) => option.kind)],
    ['Execute', ['allow_once', 'reject_once']],
  );
  conversation.do((driver, state) => driver.answer(state, asked.key, 'proceed_once'));
  const end = await conversation.until((event) => event.type === 'completion');
  assert.equal(end.type === 'completion' && end.text, 'chose proceed_once');
});

test('without anyone to ask the policy answers', async (t) => {
  for (const [permissions, said] of [
    ['auto', 'chose proceed_once'],
    ['deny', 'chose cancel'],
  ] as const) {
    const conversation = start(t, { permissions });
    say(conversation, 'ask');
    const end = await conversation.until((event) => event.type === 'completion');
    assert.equal(end.type === 'completion' && end.text, said);
  }
});

test('a cancelled turn ends as cancelled', async (t) => {
  const conversation = start(t);
  say(conversation, 'hang');
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (conversation.state.phase !== 'busy') return;
      clearInterval(look);
      resolve();
    }, 5);
  });
  conversation.do((driver, state) => driver.cancel(state));
  const end = await conversation.until((event) => event.type === 'completion');
  assert.equal(end.type === 'completion' && end.stop_reason, 'cancelled');
});

test('loads its transcript, or says that it could not', async (t) => {
  const kept = start(t, { resume: 'd0' });
  say(kept, 'look');
  await kept.until((event) => event.type === 'completion');
  assert.deepEqual([kept.state.agentSession, kept.state.resumeFailed], ['d0', undefined]);
  const lost = start(t, { resume: 'gone' });
  say(lost, 'look');
  await lost.until((event) => event.type === 'completion');
  assert.deepEqual([lost.state.agentSession, lost.state.resumeFailed], ['d1', true]);
});

test('is told about its MCP servers by a file in its home', () => {
  const files = droidFiles({ mcpServers: [{ name: 'oubliette', command: 'node', args: ['c.js'], env: { A: 'b' } }] });
  assert.deepEqual(JSON.parse(files['.factory/mcp.json']!).mcpServers.oubliette, {
    type: 'stdio',
    command: 'node',
    args: ['c.js'],
    env: { A: 'b' },
    disabled: false,
  });
});

test('nothing that a droid prints makes it throw', () => {
  const kinds = fc.constantFrom(
    'assistant_text_delta',
    'create_message',
    'tool_call',
    'tool_result',
    'error',
    'agent_turn_completed',
    'droid_working_state_changed',
  );
  const notification = fc.record(
    {
      type: kinds,
      message: fc.jsonValue(),
      content: fc.jsonValue(),
      toolUse: fc.jsonValue(),
      textDelta: fc.jsonValue(),
      tokenUsage: fc.jsonValue(),
      newState: fc.jsonValue(),
    },
    { requiredKeys: ['type'] },
  );
  const line = fc.oneof(
    fc.string(),
    notification.map((each) =>
      JSON.stringify({ method: 'droid.session_notification', params: { notification: each } }),
    ),
    fc.jsonValue().map((params) => JSON.stringify({ id: 'q', method: 'droid.request_permission', params })),
  );
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      let { state } = droidDriver.open({ config: { driver: 'droid' }, cwd: '/', mcpServers: [], permissions: 'ask' });
      state = droidDriver.line(state, '{"id":"1","result":{"sessionId":"d1"}}').state;
      state = droidDriver.prompt(state, { text: 'go' }).state;
      for (const each of lines) state = droidDriver.line(state, each).state;
      JSON.stringify(state);
    }),
    { numRuns: 300 },
  );
});
