import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { acpDriver } from '../acp/acp.ts';
import type { AgentEvent } from '../agent.ts';
import { converse, type Conversation } from '../fixtures/conversation.ts';

const program = new URL('../../embedded-agent.ts', import.meta.url).pathname;
const tools = new URL('../fixtures/tool-server.ts', import.meta.url).pathname;
const child = new URL('../../code/child.ts', import.meta.url).pathname;

function start(t: TestContext): Conversation {
  const env = { GIVEN: 'to the server', LONG: '{"id":12345678901234567890}' };
  const mcpServers = [{ name: 'oubliette', command: process.execPath, args: [tools], env }];
  const conversation = converse(
    acpDriver,
    { config: { driver: 'embedded' }, cwd: '/', mcpServers, permissions: 'auto' },
    [process.execPath, program],
    { OUBLIETTE_CODE_CHILD: child },
  );
  t.after(() => conversation.close());
  return conversation;
}

async function turn(conversation: Conversation, text: string): Promise<AgentEvent[]> {
  const before = conversation.events.length;
  conversation.do((driver, state) => driver.prompt(state, { text }));
  await conversation.until((event) => event.type === 'completion' && conversation.events.indexOf(event) >= before);
  return conversation.events.slice(before);
}
const completion = (events: AgentEvent[]): string => events.findLast((event) => event.type === 'completion')!.text;

test('a program gets integers as long as they are', async (t) => {
  assert.equal(completion(await turn(start(t), 'ant_env(name="LONG")["id"] + 1')), '12345678901234567891');
});

test('runs a message as a program over its MCP tools and tells each call', async (t) => {
  const events = await turn(start(t), 'x = ant_add(a=1, b=2)\nx["sum"] * 10');
  const call_id = events[0]?.type === 'tool_call' ? events[0].call_id : '';
  assert.match(call_id, /^call_[0-9a-f]{8}_1$/);
  assert.deepEqual(events, [
    { type: 'tool_call', call_id, tool: 'ant_add', arguments: { a: 1, b: 2 } },
    { type: 'tool_result', call_id, is_error: false, text: '{"sum":3}' },
    { type: 'message', role: 'agent', text: '30', message_id: 'msg_1' },
    { type: 'completion', stop_reason: 'end_turn', text: '30' },
  ]);
});

test('a failed tool raises RuntimeError with its text, which a program can catch', async (t) => {
  const conversation = start(t);
  const caught = await turn(
    conversation,
    'try:\n    ant_fail()\nexcept RuntimeError as e:\n    r = "caught " + str(e)\nr',
  );
  assert.equal(completion(caught), 'caught no recipient');
  assert.match(completion(await turn(conversation, 'ant_fail()')), /RuntimeError: no recipient/);
});

test('lists its tools, prints, and says when there is no value', async (t) => {
  const conversation = start(t);
  assert.equal(completion(await turn(conversation, 'tools()')), '["ant_add","ant_env","ant_fail","ant_wait"]');
  assert.match(completion(await turn(conversation, 'print("out")\n"value"')), /^out\n?value$/);
  assert.equal(completion(await turn(conversation, 'x = 1')), 'Code executed successfully (no return value)');
  assert.equal(completion(await turn(conversation, 'None')), 'None');
  assert.equal(completion(await turn(conversation, 'ant_env(name="GIVEN")')), 'to the server');
});

test('answers what is no program with a short help', async (t) => {
  const conversation = start(t);
  for (const prose of ['hello', 'Hello there, please list my projects!', 'привет мир'])
    assert.match(completion(await turn(conversation, prose)), /^I run each message as a program/);
  assert.doesNotMatch(completion(await turn(conversation, 'ant_nope(a=1)')), /^I run each message/);
});

test('a cancelled program ends the turn as cancelled and the next one runs', async (t) => {
  const conversation = start(t);
  conversation.do((driver, state) => driver.prompt(state, { text: 'ant_wait(ms=60000)' }));
  await conversation.until((event) => event.type === 'tool_call');
  conversation.do((driver, state) => driver.cancel(state));
  const end = await conversation.until((event) => event.type === 'completion');
  assert.equal(end.type === 'completion' && end.stop_reason, 'cancelled');
  assert.equal(completion(await turn(conversation, '6 * 7')), '42');
});
