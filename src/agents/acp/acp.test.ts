import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import type { AgentEvent, AgentSpec, AgentState, Step } from '../agent.ts';
import { acpDriver } from './acp.ts';

const spec: AgentSpec = {
  config: { driver: 'acp' },
  cwd: '/workspace',
  mcpServers: [{ name: 'oubliette', command: 'node', args: ['client.js'], env: { KEY: 'value' } }],
  permissions: 'ask',
};

/** An agent of which only the lines matter: what it says is told, what it is told is looked at. */
function dialogue(over: Partial<AgentSpec> = {}) {
  let state: AgentState = acpDriver.open({ ...spec, ...over }).state;
  const events: AgentEvent[] = [];
  const take = (step: Step): void => {
    state = JSON.parse(JSON.stringify(step.state)) as AgentState;
    events.push(...step.events);
  };
  return {
    events,
    get state() {
      return state;
    },
    do: (change: (state: AgentState) => Step) => take(change(state)),
    say: (message: object) => take(acpDriver.line(state, JSON.stringify({ jsonrpc: '2.0', ...message }))),
    update: (update: object) =>
      take(acpDriver.line(state, JSON.stringify({ method: 'session/update', params: { sessionId: 'a', update } }))),
    heard: () => state.outbox.map(({ line }) => JSON.parse(line) as Record<string, any>),
  };
}

const capabilities = (more: object = {}): object => ({
  id: 0,
  result: { protocolVersion: 1, agentCapabilities: more },
});

function ready(over: Partial<AgentSpec> = {}): ReturnType<typeof dialogue> {
  const talk = dialogue(over);
  talk.say(capabilities());
  talk.say({ id: 1, result: { sessionId: 'a' } });
  return talk;
}

test('opens a session with its MCP servers and holds back a prompt until it is ready', () => {
  const talk = dialogue();
  talk.do((state) =>
    acpDriver.prompt(state, { text: 'hello', attachments: [{ path: '/workspace/a b.txt', name: 'a b.txt' }] }),
  );
  talk.say(capabilities());
  assert.equal(talk.state.phase, 'starting');
  talk.say({ id: 1, result: { sessionId: 'a' } });
  assert.deepEqual(
    talk.heard().map((line) => line['method']),
    ['initialize', 'session/new', 'session/prompt'],
  );
  assert.deepEqual(talk.heard()[1]?.['params'], {
    cwd: '/workspace',
    mcpServers: [{ name: 'oubliette', command: 'node', args: ['client.js'], env: [{ name: 'KEY', value: 'value' }] }],
  });
  assert.deepEqual(talk.heard()[2]?.['params'].prompt, [
    { type: 'text', text: 'hello' },
    { type: 'resource_link', uri: 'file:///workspace/a%20b.txt', name: 'a b.txt' },
  ]);
  assert.deepEqual([talk.state.phase, talk.state.agentSession], ['busy', 'a']);
});

test('values that cannot be made texts or numbers are said to be odd, and break nothing', () => {
  const odd = { toString: 1 };
  const talk = dialogue();
  talk.say({ id: 0, result: { protocolVersion: odd } });
  assert.match(JSON.stringify(talk.events), /speaks ACP version .*toString.*, we speak 1/);
  const other = ready();
  other.say({ id: 'p', method: 'session/request_permission', params: { options: [{ optionId: odd, name: odd }] } });
  other.say({ id: 2, error: { code: odd, message: odd } });
  assert.notEqual(other.state.phase, 'ended');
});

test('turns chunks into whole messages, in the order of what happened', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  for (const text of ['Let me ', 'look.'])
    talk.update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } });
  talk.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Here ' } });
  talk.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'it is.' } });
  talk.update({ sessionUpdate: 'plan', entries: [{ content: 'look', status: 'completed', priority: 'high' }] });
  talk.update({ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'read', status: 'pending', rawInput: {} });
  talk.update({ sessionUpdate: 'tool_call_update', toolCallId: 'c', rawInput: { path: 'x' } });
  talk.update({
    sessionUpdate: 'tool_call_update',
    toolCallId: 'c',
    status: 'failed',
    content: [{ type: 'content', content: { type: 'text', text: 'no file' } }],
  });
  talk.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'Sorry.' } });
  talk.say({ id: 2, result: { stopReason: 'end_turn' } });
  assert.deepEqual(talk.events, [
    { type: 'thought', text: 'Let me look.' },
    { type: 'message', role: 'agent', text: 'Here it is.', message_id: 'msg_1' },
    { type: 'plan', entries: [{ content: 'look', status: 'completed', priority: 'high' }] },
    { type: 'tool_call', call_id: 'c', tool: 'read', arguments: { path: 'x' } },
    { type: 'tool_result', call_id: 'c', is_error: true, text: 'no file' },
    { type: 'message', role: 'agent', text: 'Sorry.', message_id: 'msg_2' },
    { type: 'completion', stop_reason: 'end_turn', text: 'Sorry.' },
  ]);
  assert.equal(talk.state.phase, 'ready');
});

const question = {
  id: 'q',
  method: 'session/request_permission',
  params: {
    sessionId: 'a',
    toolCall: { toolCallId: 'c', title: 'rm -rf', rawInput: { command: 'rm' } },
    options: [
      { optionId: 'always', name: 'Always', kind: 'allow_always' },
      { optionId: 'once', name: 'Once', kind: 'allow_once' },
      { optionId: 'no', name: 'No', kind: 'reject_once' },
    ],
  },
};

test('hands out a permission request and passes on the answer, once', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  talk.say(question);
  const asked = talk.events.at(-1);
  assert.ok(asked?.type === 'permission_request');
  assert.deepEqual([asked.tool, asked.options.map((option) => option.id)], ['rm -rf', ['always', 'once', 'no']]);
  talk.do((state) => acpDriver.answer(state, asked.key, 'no'));
  talk.do((state) => acpDriver.answer(state, asked.key, 'once'));
  talk.do((state) => acpDriver.answer(state, 'unknown', 'once'));
  assert.deepEqual(
    talk
      .heard()
      .filter((line) => line['id'] === 'q')
      .map((line) => line['result']),
    [{ outcome: { outcome: 'selected', optionId: 'no' } }],
  );
});

test('answers permission requests by itself where the policy says so', () => {
  for (const [permissions, optionId] of [
    ['auto', 'once'],
    ['deny', 'no'],
  ] as const) {
    const talk = ready({ permissions });
    talk.say(question);
    assert.deepEqual(talk.heard().at(-1)?.['result'], { outcome: { outcome: 'selected', optionId } });
    assert.ok(!talk.events.some((event) => event.type === 'permission_request'));
  }
});

test('cancels a turn together with its open questions', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  talk.say(question);
  talk.do((state) => acpDriver.cancel(state));
  assert.deepEqual(
    talk
      .heard()
      .slice(-2)
      .map((line) => line['method'] ?? line['result'].outcome.outcome),
    ['cancelled', 'session/cancel'],
  );
  talk.say({ id: 2, result: { stopReason: 'cancelled' } });
  assert.deepEqual(talk.events.at(-1), { type: 'completion', stop_reason: 'cancelled', text: '' });
});

test('a prompt that waits for the agent can be cancelled before it was sent', () => {
  const talk = dialogue();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  talk.do((state) => acpDriver.cancel(state));
  talk.say(capabilities());
  talk.say({ id: 1, result: { sessionId: 'a' } });
  assert.deepEqual([talk.events.at(-1)?.type, talk.state.phase, talk.heard().length], ['completion', 'ready', 2]);
});

test('resumes a transcript by the best way the agent has, and says when it has none', () => {
  const resumes = dialogue({ resume: 'old' });
  resumes.say(capabilities({ loadSession: true, sessionCapabilities: { resume: {} } }));
  assert.equal(resumes.heard().at(-1)?.['method'], 'session/resume');

  const loads = dialogue({ resume: 'old' });
  loads.say(capabilities({ loadSession: true }));
  assert.deepEqual(
    [loads.heard().at(-1)?.['method'], loads.heard().at(-1)?.['params'].sessionId],
    ['session/load', 'old'],
  );
  loads.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'said long ago' } });
  loads.say({ id: 1, result: {} });
  assert.deepEqual([loads.events, loads.state.phase, loads.state.agentSession], [[], 'ready', 'old']);

  const cannot = dialogue({ resume: 'old' });
  cannot.say(capabilities());
  cannot.say({ id: 1, result: { sessionId: 'new' } });
  assert.deepEqual([cannot.state.resumeFailed, cannot.state.agentSession], [true, 'new']);

  const lost = dialogue({ resume: 'old' });
  lost.say(capabilities({ loadSession: true }));
  lost.say({ id: 1, error: { code: -32602, message: 'no such session' } });
  lost.say({ id: 2, result: { sessionId: 'new' } });
  assert.deepEqual([lost.state.resumeFailed, lost.state.agentSession], [true, 'new']);
});

test('chooses the model as the agent offers it', () => {
  const modern = dialogue({ model: 'm' });
  modern.say(capabilities());
  modern.say({
    id: 1,
    result: { sessionId: 'a', configOptions: [{ id: 'model', category: 'model', type: 'select' }] },
  });
  assert.deepEqual(modern.heard().at(-1)?.['params'], { sessionId: 'a', configId: 'model', value: 'm' });
  const older = dialogue({ model: 'm' });
  older.say(capabilities());
  older.say({ id: 1, result: { sessionId: 'a', models: { availableModels: [] } } });
  assert.deepEqual(older.heard().at(-1)?.['params'], { sessionId: 'a', modelId: 'm' });
  older.say({ id: 2, error: { code: -32602, message: 'unknown model' } });
  assert.equal(older.state.phase, 'ready');
});

test('an agent that refuses, wants a login, speaks another version, dies or cannot start is named', () => {
  const endings: [(talk: ReturnType<typeof dialogue>) => void, RegExp][] = [
    [(talk) => talk.say({ id: 0, error: { code: -32000, message: 'Authentication required' } }), /asks for a login/],
    [(talk) => talk.say({ id: 0, result: { protocolVersion: 9 } }), /speaks ACP version 9/],
    [
      (talk) => talk.do((state) => acpDriver.process(state, { state: 'failed', reason: 'ENOENT' })),
      /could not be started: ENOENT/,
    ],
    [
      (talk) => {
        talk.do((state) => acpDriver.line(state, 'panic: out of luck', 'err'));
        talk.do((state) => acpDriver.process(state, { state: 'exited', code: 2, signal: null }));
      },
      /ended with code 2: panic: out of luck/,
    ],
    [(talk) => talk.do((state) => acpDriver.delivered(state, '1.1', 'EPIPE')), /does not listen any more: EPIPE/],
  ];
  for (const [happen, reason] of endings) {
    const talk = dialogue();
    happen(talk);
    assert.match(JSON.stringify(talk.events), reason);
    assert.deepEqual([talk.state.phase, talk.state.outbox, talk.events.length], ['ended', [], 1]);
    happen(talk);
    assert.equal(talk.events.length, 1);
  }
});

test('a turn that the agent fails ends with an error and a completion, and the next one can begin', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  talk.say({ id: 2, error: { code: -32603, message: 'Internal error', data: { details: 'model is down' } } });
  assert.deepEqual(
    talk.events.map((event) => event.type),
    ['error', 'completion'],
  );
  assert.match(JSON.stringify(talk.events[0]), /model is down/);
  assert.equal(talk.state.phase, 'ready');
});

test('refuses what it does not offer', () => {
  const talk = ready();
  talk.say({ id: 'x', method: 'fs/read_text_file', params: { path: '/etc/passwd' } });
  assert.equal(talk.heard().at(-1)?.['error'].code, -32601);
});

test('an agent that asks without end, or opens calls without end, does not fill the store', () => {
  const asks = ready();
  for (let i = 0; i < 60; i++) asks.say({ ...question, id: `q${i}` });
  assert.equal(asks.events.filter((event) => event.type === 'permission_request').length, 50);
  const calls = ready();
  for (let i = 0; i < 300; i++)
    calls.update({ sessionUpdate: 'tool_call', toolCallId: `c${i}`, title: 'x', status: 'pending' });
  assert.ok(JSON.stringify(calls.state).length < 20_000);
  const deaf = ready();
  for (let i = 0; i < 1100; i++) deaf.say({ id: `f${i}`, method: 'fs/read_text_file', params: {} });
  assert.deepEqual([deaf.state.phase, deaf.state.outbox], ['ended', []]);
  assert.match(JSON.stringify(deaf.events.at(-1)), /left 1000 messages unread/);
});

test('holds what a call was made with only until it is told, and forgets the oldest of many open ones', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  const open = (toolCallId: string, rawInput: object): void =>
    talk.update({ sessionUpdate: 'tool_call', toolCallId, title: 'x', status: 'in_progress', rawInput });
  // Ids that look like numbers, the highest first: their order is the one they came in.
  for (let id = 500; id > 0; id--) open(String(id), { text: 'y'.repeat(10_000) });
  assert.equal(talk.events.filter((event) => event.type === 'tool_call').length, 500);
  assert.ok(JSON.stringify(talk.state).length < 30_000);
  talk.update({ sessionUpdate: 'tool_call_update', toolCallId: '1', status: 'completed' });
  assert.deepEqual(
    talk.events.slice(-2).map((event) => event.type),
    ['tool_call', 'tool_result'],
  );
});

test('a permission request that offers no answer is refused at once', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  talk.say({ ...question, params: { ...question.params, options: [] } });
  assert.ok(!talk.events.some((event) => event.type === 'permission_request'));
  assert.deepEqual(talk.heard().at(-1)?.['result'], { outcome: { outcome: 'cancelled' } });
});

test('goes on with a turn that began under an earlier version, which held its calls by their ids', () => {
  const talk = ready();
  talk.do((state) => acpDriver.prompt(state, { text: 'go' }));
  const before = talk.state;
  const calls = { c: { tool: 'read', arguments: { path: 'x' }, isTold: true }, d: { tool: 'write' } };
  const old = { ...before, inner: { ...(before.inner as object), calls } } as AgentState;
  talk.do(() => acpDriver.line(old, JSON.stringify(over('c'))));
  talk.update(over('d').params.update);
  assert.deepEqual(
    talk.events.map((event) => [event.type, 'call_id' in event && event.call_id]),
    [
      ['tool_result', 'c'],
      ['tool_call', 'd'],
      ['tool_result', 'd'],
    ],
  );
});

const over = (toolCallId: string) => ({
  method: 'session/update',
  params: { sessionId: 'a', update: { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' } },
});

test('nothing that an agent prints makes it throw, and its state stays a JSON value', () => {
  const words = fc.constantFrom(
    'session/update',
    'session/request_permission',
    'initialize',
    'agent_message_chunk',
    'tool_call',
    'tool_call_update',
    'plan',
    '__proto__',
    'c',
    'completed',
  );
  const messages = fc.record(
    {
      id: fc.oneof(fc.nat(4), fc.string(), fc.constant(null)),
      method: words,
      result: fc.jsonValue(),
      error: fc.jsonValue(),
      params: fc.oneof(
        fc.jsonValue(),
        fc.record(
          {
            update: fc.record(
              {
                sessionUpdate: words,
                toolCallId: words,
                content: fc.jsonValue(),
                rawInput: fc.jsonValue(),
                status: words,
                entries: fc.jsonValue(),
              },
              { requiredKeys: [] },
            ),
            toolCall: fc.jsonValue(),
            options: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string(),
          messages.map((message) => JSON.stringify(message)),
        ),
      ),
      (lines) => {
        let state = ready().state;
        for (const line of lines) {
          const before = JSON.stringify(state);
          const step = acpDriver.line(state, line);
          assert.equal(JSON.stringify(state), before);
          assert.deepEqual(
            JSON.parse(JSON.stringify(step.state)),
            JSON.parse(JSON.stringify(acpDriver.line(JSON.parse(before), line).state)),
          );
          state = step.state;
        }
      },
    ),
    { numRuns: 300 },
  );
});
