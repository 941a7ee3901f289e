import type {
  ContentBlock,
  InitializeRequest,
  NewSessionRequest,
  PermissionOptionKind,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk';
import { isObject, textOf, valueAt } from '../../schema/index.ts';
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
import { noteCall, openCalls, takeUpdate, tellCall, type HoldsCalls } from './acp-updates.ts';

type Waiting = 'initialize' | 'new' | 'load' | 'model' | 'prompt';

interface Inner extends HoldsCalls, HeldRpc {
  spec: AgentSpec;
  nextId: number;
  /** Our open requests. */
  waiting: Record<string, Waiting>;
  /** While a transcript is loaded the agent repeats it; that is stored already. */
  isReplaying?: boolean;
}

const protocolVersion = 1;
const methodNotFound = -32601;
const authRequired = -32000;
const maxOpenAsks = 50;

/**
 * The Agent Client Protocol: claude-agent-acp, codex-acp, opencode, gemini and our own embedded agent. Its state is
 * a value, not a connection, so a turn that outlives the server is picked up where its last stored line ended.
 */
export const acpDriver: AgentDriver = {
  name: 'acp',

  open(spec) {
    const inner: Inner = { ...nothingHeld, spec, nextId: 0, waiting: {}, asks: {}, calls: [] };
    const step = begin({ driver: 'acp', phase: 'starting', outbox: [], inner });
    const params: InitializeRequest = {
      protocolVersion,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: 'oubliette', version: '1' },
    };
    request(step, 'initialize', 'initialize', params);
    return step.done();
  },

  prompt: (state, prompt) => takePrompt(begin(state), prompt, sendPrompt),

  cancel(state) {
    const step = begin(state);
    const { inner } = step;
    if (inner.prompt) {
      delete inner.prompt;
      step.complete('cancelled');
    } else if (state.phase === 'busy') {
      for (const id of Object.values(inner.asks)) respond(step, id, cancelledPermission);
      inner.asks = {};
      step.send({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: state.agentSession } });
    }
    return step.done();
  },

  answer: (state, key, optionId) =>
    takeAnswer(begin(state), key, (step, id) =>
      respond(step, id, optionId === null ? cancelledPermission : { outcome: { outcome: 'selected', optionId } }),
    ),

  line: (state, line, stream = 'out') => takeLine(begin(state), line, stream, take),

  delivered: (state, id, error) => takeDelivered(begin(state), id, error),

  process: (state, change) => takeProcess(begin(state), change),
};

function begin(state: AgentState): Draft<Inner> {
  const step = draft<Inner>(state, (state.inner as Inner).spec.run ?? 1);
  step.inner.calls = openCalls(step.inner.calls);
  return step;
}

const cancelledPermission: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

function request(step: Draft<Inner>, method: string, kind: Waiting, params: object): void {
  const id = step.inner.nextId++;
  step.inner.waiting = { ...step.inner.waiting, [id]: kind };
  step.send({ jsonrpc: '2.0', id, method, params });
}

const respond = (step: Draft<Inner>, id: RpcId, result: object): void => step.send({ jsonrpc: '2.0', id, result });

function take(step: Draft<Inner>, message: Incoming): void {
  if (message.kind === 'notification') {
    const update = message.params['update'];
    if (message.method === 'session/update' && isObject(update) && !step.inner.isReplaying) takeUpdate(step, update);
  } else if (message.kind === 'request') {
    if (message.method === 'session/request_permission') askPermission(step, message.id, message.params);
    else
      step.send({
        jsonrpc: '2.0',
        id: message.id,
        error: { code: methodNotFound, message: `${message.method} is not offered here` },
      });
  } else {
    const kind = step.inner.waiting[String(message.id)];
    if (!kind) return;
    const { [String(message.id)]: _settled, ...others } = step.inner.waiting;
    step.inner.waiting = others;
    if (message.kind === 'error') refused(step, kind, message.code, message.message);
    else answered(step, kind, message.result);
  }
}

function answered(step: Draft<Inner>, kind: Waiting, result: Record<string, unknown>): void {
  if (kind === 'initialize') return openSession(step, result);
  if (kind === 'prompt') {
    for (const { id } of step.inner.calls) tellCall(step, id);
    step.inner.calls = [];
    step.inner.asks = {};
    return step.complete(text(result['stopReason']) ?? 'end_turn');
  }
  if (kind === 'new') {
    const id = text(result['sessionId']);
    if (id === undefined) return step.end('agent.failed', 'The agent answered session/new without a session id.');
    step.state.agentSession = id;
  }
  if (kind === 'new' || kind === 'load') {
    step.inner.isReplaying = false;
    chooseModel(step, result);
    becomeReady(step);
  }
}

function refused(step: Draft<Inner>, kind: Waiting, code: number, message: string): void {
  if (kind === 'model') return;
  if (kind === 'load') {
    step.state.resumeFailed = true;
    step.inner.isReplaying = false;
    return newSession(step);
  }
  if (kind === 'prompt') {
    step.emit({ type: 'error', code: 'agent.failed', message: `The agent failed: ${message}` });
    step.inner.calls = [];
    return step.complete('error');
  }
  const needsLogin = code === authRequired && /auth/i.test(message);
  step.end(
    'agent.unavailable',
    needsLogin ? `The agent asks for a login: ${message}` : `The agent refused to begin: ${message}`,
  );
}

function openSession(step: Draft<Inner>, result: Record<string, unknown>): void {
  if (result['protocolVersion'] !== protocolVersion)
    return step.end(
      'agent.unavailable',
      `The agent speaks ACP version ${JSON.stringify(result['protocolVersion'])}, we speak ${protocolVersion}.`,
    );
  const { resume } = step.inner.spec;
  if (resume === undefined) return newSession(step);
  const method = resumeMethod(result['agentCapabilities']);
  if (!method) {
    step.state.resumeFailed = true;
    return newSession(step);
  }
  step.state.agentSession = resume;
  step.inner.isReplaying = true;
  request(step, method, 'load', { ...place(step), sessionId: resume });
}

/** Prefers to resume, which repeats nothing; loading sends the whole transcript again first. */
function resumeMethod(abilities: unknown): 'session/resume' | 'session/load' | undefined {
  if (!isObject(abilities)) return undefined;
  if (isObject(valueAt(abilities, ['sessionCapabilities', 'resume']))) return 'session/resume';
  return abilities['loadSession'] === true ? 'session/load' : undefined;
}

const newSession = (step: Draft<Inner>): void => request(step, 'session/new', 'new', place(step));

const place = ({ inner: { spec } }: Draft<Inner>): NewSessionRequest => ({
  cwd: spec.cwd,
  mcpServers: spec.mcpServers.map(({ name, command, args, env }) => ({
    name,
    command,
    args,
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
  })),
});

/** Agents offer models as a configuration option or, older ones, as a list of their own. */
function chooseModel(step: Draft<Inner>, result: Record<string, unknown>): void {
  const { model } = step.inner.spec;
  if (model === undefined) return;
  const sessionId = step.state.agentSession;
  const option = list(result['configOptions']).find((each) => each['category'] === 'model' || each['id'] === 'model');
  if (option) request(step, 'session/set_config_option', 'model', { sessionId, configId: option['id'], value: model });
  else if (isObject(result['models'])) request(step, 'session/set_model', 'model', { sessionId, modelId: model });
}

function becomeReady(step: Draft<Inner>): void {
  step.state.phase = 'ready';
  const { prompt } = step.inner;
  delete step.inner.prompt;
  if (prompt) sendPrompt(step, prompt);
}

function sendPrompt(step: Draft<Inner>, prompt: Prompt): void {
  const blocks: ContentBlock[] = [
    { type: 'text', text: prompt.text },
    ...(prompt.attachments ?? []).map(({ path, name, mimeType }): ContentBlock => ({
      type: 'resource_link',
      uri: `file://${encodeURI(path)}`,
      name,
      ...(mimeType ? { mimeType } : {}),
    })),
  ];
  step.state.phase = 'busy';
  request(step, 'session/prompt', 'prompt', { sessionId: step.state.agentSession, prompt: blocks });
}

function askPermission(step: Draft<Inner>, id: RpcId, params: Record<string, unknown>): void {
  const about = isObject(params['toolCall']) ? params['toolCall'] : {};
  const callId = text(about['toolCallId']);
  const tool = callId === undefined ? (text(about['title']) ?? 'tool') : noteCall(step, callId, about).tool;
  if (callId !== undefined) tellCall(step, callId);
  const options: PermissionOption[] = list(params['options']).map((option) => ({
    id: textOf(option['optionId']),
    name: text(option['name']) ?? '',
    kind: (text(option['kind']) ?? 'allow_once') as PermissionOptionKind,
  }));
  const policy = step.inner.spec.permissions;
  if (policy !== 'ask') {
    const wanted = policy === 'auto' ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
    const choice = wanted.map((kind) => options.find((option) => option.kind === kind)).find(Boolean);
    return respond(step, id, choice ? { outcome: { outcome: 'selected', optionId: choice.id } } : cancelledPermission);
  }
  // A question without a possible answer would only wait for its deadline.
  const isAskable = options.length > 0 && Object.keys(step.inner.asks).length < maxOpenAsks;
  if (!isAskable) return respond(step, id, cancelledPermission);
  const key = JSON.stringify(id);
  step.inner.asks = { ...step.inner.asks, [key]: id };
  step.emit({ type: 'permission_request', key, tool, options });
}
