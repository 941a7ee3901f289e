import { isObject } from '../../schema/index.ts';
import type { AgentDriver, AgentSpec, AgentState, PermissionOption, Prompt } from '../agent.ts';
import {
  draft,
  nothingHeld,
  takeAnswer,
  takeDelivered,
  takeLine,
  takeProcess,
  takePrompt,
  type Draft,
  type HeldRpc,
} from '../agent-state.ts';
import { list, text, type Incoming, type RpcId } from '../json-rpc.ts';
import { takeNotification } from './droid-notifications.ts';

type Waiting = 'open' | 'load' | 'prompt' | 'interrupt';

export interface DroidInner extends HeldRpc {
  spec: AgentSpec;
  nextId: number;
  waiting: Record<string, Waiting>;
  /** Text that came as deltas is not taken again from the whole message. */
  hasDeltas?: boolean;
  /** Being idle ends a turn only after the droid was seen at work. */
  wasWorking?: boolean;
  isCancelled?: boolean;
  /** Tool calls that were told already: droid repeats them in its messages. */
  told: string[];
}

const envelope = { jsonrpc: '2.0', factoryApiVersion: '1.0.0', factoryProtocolVersion: '1.0.0' } as const;
const methodNotFound = -32601;
const maxOpenAsks = 50;

/**
 * Factory's droid in its stream-jsonrpc mode, which works with a model of one's own and no login. MCP servers are
 * not part of its protocol: they belong into `.factory/mcp.json` (`droidFiles`).
 */
export const droidDriver: AgentDriver = {
  name: 'droid',

  open(spec) {
    const inner: DroidInner = { ...nothingHeld, spec, nextId: 1, waiting: {}, asks: {}, told: [] };
    const step = begin({ driver: 'droid', phase: 'starting', outbox: [], inner });
    if (spec.resume === undefined) initialize(step);
    else request(step, 'droid.load_session', 'load', { sessionId: spec.resume });
    return step.done();
  },

  prompt: (state, prompt) => takePrompt(begin(state), prompt, sendPrompt),

  cancel(state) {
    const step = begin(state);
    if (step.inner.prompt) {
      delete step.inner.prompt;
      step.complete('cancelled');
    } else if (state.phase === 'busy') {
      for (const id of Object.values(step.inner.asks)) respond(step, id, { selectedOption: 'cancel' });
      step.inner.asks = {};
      step.inner.isCancelled = true;
      request(step, 'droid.interrupt_session', 'interrupt', {});
    }
    return step.done();
  },

  answer: (state, key, optionId) =>
    takeAnswer(begin(state), key, (step, id) => respond(step, id, { selectedOption: optionId ?? 'cancel' })),

  line: (state, line, stream = 'out') => takeLine(begin(state), line, stream, take),

  delivered: (state, id, error) => takeDelivered(begin(state), id, error),

  process: (state, change) => takeProcess(begin(state), change),
};

/** Files that tell droid about its MCP servers; they go into the agent's home. */
export function droidFiles(spec: Pick<AgentSpec, 'mcpServers'>): Record<string, string> {
  const mcpServers = Object.fromEntries(
    spec.mcpServers.map(({ name, command, args, env }) => [
      name,
      { type: 'stdio', command, args, env, disabled: false },
    ]),
  );
  return { '.factory/mcp.json': JSON.stringify({ mcpServers }, undefined, 2) };
}

const begin = (state: AgentState): Draft<DroidInner> =>
  draft<DroidInner>(state, (state.inner as DroidInner).spec.run ?? 1);

function request(step: Draft<DroidInner>, method: string, kind: Waiting, params: object): void {
  const id = String(step.inner.nextId++);
  step.inner.waiting = { ...step.inner.waiting, [id]: kind };
  step.send({ ...envelope, type: 'request', id, method, params });
}

const respond = (step: Draft<DroidInner>, id: RpcId, result: object): void =>
  step.send({ ...envelope, type: 'response', id, result });

function initialize(step: Draft<DroidInner>): void {
  const { spec } = step.inner;
  // Inside a sandbox there is nothing to protect from the agent but what permissions are asked for.
  const autonomyLevel = spec.permissions === 'auto' ? 'high' : 'off';
  request(step, 'droid.initialize_session', 'open', {
    machineId: 'oubliette',
    cwd: spec.cwd,
    autonomyLevel,
    ...(spec.model ? { modelId: spec.model } : {}),
  });
}

function take(step: Draft<DroidInner>, message: Incoming): void {
  if (message.kind === 'notification') {
    const notification = message.params['notification'];
    if (message.method === 'droid.session_notification' && isObject(notification)) takeNotification(step, notification);
    return;
  }
  if (message.kind === 'request') {
    if (message.method === 'droid.request_permission') askPermission(step, message.id, message.params);
    else if (message.method === 'droid.ask_user') respond(step, message.id, { cancelled: true, answers: [] });
    else
      step.send({
        ...envelope,
        type: 'response',
        id: message.id,
        error: { code: methodNotFound, message: `${message.method} is not offered here` },
      });
    return;
  }
  const kind = step.inner.waiting[String(message.id)];
  if (!kind) return;
  const { [String(message.id)]: _settled, ...others } = step.inner.waiting;
  step.inner.waiting = others;
  if (message.kind === 'result') return answered(step, kind, message.result);
  if (kind === 'open') return step.end('agent.unavailable', `The agent refused to begin: ${message.message}`);
  if (kind === 'load') {
    step.state.resumeFailed = true;
    return initialize(step);
  }
  if (kind !== 'prompt') return;
  step.emit({ type: 'error', code: 'agent.failed', message: `The agent failed: ${message.message}` });
  step.complete('error');
}

function answered(step: Draft<DroidInner>, kind: Waiting, result: Record<string, unknown>): void {
  if (kind !== 'open' && kind !== 'load') return;
  const id = text(result['sessionId']) ?? (kind === 'load' ? step.inner.spec.resume : undefined);
  if (id === undefined) return step.end('agent.failed', 'The agent began without a session id.');
  step.state.agentSession = id;
  step.state.phase = 'ready';
  const { prompt } = step.inner;
  delete step.inner.prompt;
  if (prompt) sendPrompt(step, prompt);
}

function sendPrompt(step: Draft<DroidInner>, prompt: Prompt): void {
  const files = (prompt.attachments ?? []).map(({ path }) => `@${path}`).join('\n');
  step.state.phase = 'busy';
  step.inner.wasWorking = false;
  step.inner.isCancelled = false;
  step.inner.hasDeltas = false;
  request(step, 'droid.add_user_message', 'prompt', { text: files ? `${prompt.text}\n\n${files}` : prompt.text });
}

function askPermission(step: Draft<DroidInner>, id: RpcId, params: Record<string, unknown>): void {
  const options: PermissionOption[] = list(params['options']).map((option) => {
    const value = text(option['value']) ?? text(option['outcome']) ?? '';
    return { id: value, name: text(option['label']) ?? value, kind: kindOf(value) };
  });
  const policy = step.inner.spec.permissions;
  if (policy !== 'ask') {
    const wanted = policy === 'auto' ? 'proceed_once' : 'cancel';
    const choice =
      options.find((option) => option.id === wanted) ??
      options.find((option) => option.kind.startsWith(policy === 'auto' ? 'allow' : 'reject'));
    return respond(step, id, { selectedOption: choice?.id ?? 'cancel' });
  }
  const use = list(params['toolUses'])[0];
  const inner = isObject(use?.['toolUse']) ? use['toolUse'] : use;
  if (Object.keys(step.inner.asks).length >= maxOpenAsks) return respond(step, id, { selectedOption: 'cancel' });
  const key = JSON.stringify(id);
  step.inner.asks = { ...step.inner.asks, [key]: id };
  step.emit({ type: 'permission_request', key, tool: text(inner?.['name']) ?? 'tool', options });
}

function kindOf(outcome: string): PermissionOption['kind'] {
  if (outcome === 'cancel') return 'reject_once';
  return outcome.includes('always') ? 'allow_always' : 'allow_once';
}
