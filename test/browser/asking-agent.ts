import { insidePaths } from '../../src/schema/index.ts';

/** A real ACP agent that thinks aloud, plans, calls a tool and asks for permission before it goes on; or calls as many tools as it is told. */
const program = `
import { createInterface } from 'node:readline';
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const update = (fields) => out({ method: 'session/update', params: { sessionId: 'one', update: fields } });
const text = (text) => ({ type: 'text', text });
const steps = (first, second) => [
  { content: 'Look at the file', priority: 'high', status: first },
  { content: 'Change it', priority: 'medium', status: second },
];
let answered;
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) return answered?.(result);
  if (method === 'initialize') return out({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } });
  if (method === 'session/new') return out({ id, result: { sessionId: 'one' } });
  if (method !== 'session/prompt') return;
  const wanted = Number(/^call (\\d+) tools$/.exec(params.prompt.at(-1).text)?.[1] ?? 0);
  for (let call = 1; call <= wanted; call++) {
    update({ sessionUpdate: 'tool_call', toolCallId: 'm' + call, title: 'tool ' + call, kind: 'read', status: 'in_progress', rawInput: {} });
    update({ sessionUpdate: 'tool_call_update', toolCallId: 'm' + call, status: 'completed', content: [] });
  }
  if (wanted > 0) return out({ id, result: { stopReason: 'end_turn' } });
  update({ sessionUpdate: 'plan', entries: steps('in_progress', 'pending') });
  update({ sessionUpdate: 'agent_thought_chunk', content: text('The file must be read first.') });
  update({ sessionUpdate: 'tool_call', toolCallId: 'c1', title: 'read notes.txt', kind: 'read', status: 'in_progress', rawInput: { path: 'notes.txt' } });
  update({ sessionUpdate: 'tool_call_update', toolCallId: 'c1', status: 'completed', content: [{ type: 'content', content: text('<b>two</b> lines') }] });
  update({ sessionUpdate: 'plan', entries: steps('completed', 'in_progress') });
  const answer = new Promise((resolve) => (answered = resolve));
  out({ id: 'p1', method: 'session/request_permission', params: { sessionId: 'one', toolCall: { toolCallId: 'c2', title: 'write notes.txt', rawInput: { path: 'notes.txt' } }, options: [
    { optionId: 'yes', name: 'Allow once', kind: 'allow_once' }, { optionId: 'no', name: 'Reject', kind: 'reject_once' } ] } });
  const { outcome } = await answer;
  for (const piece of ['You chose ', '**' + outcome.optionId + '**', '.']) update({ sessionUpdate: 'agent_message_chunk', content: text(piece) });
  update({ sessionUpdate: 'plan', entries: steps('completed', 'completed') });
  out({ id, result: { stopReason: 'end_turn' } });
});
`;

/** The lines of config.yaml that offer it under the name `asker`. */
export const askingAgentConfig = `agents: ${JSON.stringify({
  asker: {
    driver: 'acp',
    command: insidePaths.node,
    args: [`${insidePaths.home}/asker.mjs`],
    files: { 'asker.mjs': program },
  },
})}\n`;
