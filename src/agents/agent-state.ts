import type { AgentProcessState } from '../schema/index.ts';
import type { AgentEvent, AgentState, Delta, Prompt, Step } from './agent.ts';
import { parseRpc, type Incoming, type RpcId } from './json-rpc.ts';

/** Longer texts are emitted in pieces, so that the state stored after each step stays small. */
const maxHeldText = 1024 * 1024;

/** An agent that asks without listening would fill our memory with answers. */
const maxUnheard = 1000;

/** What every driver's inner state holds: text not yet handed out, and what the turn said last. */
export interface Held {
  text: string;
  thought: string;
  lastText: string;
  messages: number;
  sent: number;
  /** Last words on stderr, for the reason of a sudden end. */
  complaint: string;
}

/** The same for drivers that speak JSON-RPC. */
export interface HeldRpc extends Held {
  /** Permission requests by key, with the agent's own request id. */
  asks: Record<string, RpcId>;
  /** Arrived before the agent was ready. */
  prompt?: Prompt;
}

export const nothingHeld: Held = { text: '', thought: '', lastText: '', messages: 0, sent: 0, complaint: '' };

/** A step being built. Works on copies, so the state it was made from stays unchanged. */
export interface Draft<Inner extends Held> {
  state: AgentState;
  inner: Inner;
  events: AgentEvent[];
  deltas: Delta[];
  /** Puts a line into the outbox. */
  send(message: object): void;
  /** Hands out text gathered from chunks. Before anything else that has its place in the order of events. */
  flush(): void;
  emit(event: AgentEvent): void;
  say(type: 'message' | 'thought', chunk: string): void;
  /** Ends the turn. */
  complete(stopReason: string): void;
  end(code: 'agent.failed' | 'agent.unavailable', message: string): void;
  done(): Step;
}

export function draft<Inner extends Held>(from: AgentState, run: number): Draft<Inner> {
  const inner = { ...(from.inner as Inner) };
  const state: AgentState = { ...from, outbox: [...from.outbox], inner };
  const events: AgentEvent[] = [];
  const deltas: Delta[] = [];
  const step: Draft<Inner> = {
    state,
    inner,
    events,
    deltas,
    send(message) {
      if (state.phase === 'ended') return;
      if (state.outbox.length >= maxUnheard)
        return step.end('agent.failed', `The agent left ${maxUnheard} messages unread`);
      state.outbox.push({ id: `${run}.${++inner.sent}`, line: JSON.stringify(message) });
    },
    flush() {
      if (inner.thought) events.push({ type: 'thought', text: inner.thought });
      if (inner.text)
        events.push({ type: 'message', role: 'agent', text: inner.text, message_id: `msg_${++inner.messages}` });
      if (inner.text) inner.lastText = inner.text;
      inner.thought = '';
      inner.text = '';
    },
    emit(event) {
      step.flush();
      events.push(event);
    },
    say(type, chunk) {
      const [mine, other] = type === 'message' ? (['text', 'thought'] as const) : (['thought', 'text'] as const);
      if (inner[other] || inner[mine].length + chunk.length > maxHeldText) step.flush();
      inner[mine] += chunk;
      deltas.push({ type, text: chunk });
    },
    complete(stopReason) {
      step.flush();
      events.push({ type: 'completion', stop_reason: stopReason, text: inner.lastText });
      inner.lastText = '';
      if (state.phase === 'busy') state.phase = 'ready';
    },
    end(code, message) {
      step.emit({ type: 'error', code, message });
      state.phase = 'ended';
      state.outbox = [];
    },
    done: () => ({ state, events, deltas }),
  };
  return step;
}

/** Sends a prompt now, or keeps it until the agent is ready. */
export function takePrompt<Inner extends HeldRpc>(
  step: Draft<Inner>,
  prompt: Prompt,
  send: (step: Draft<Inner>, prompt: Prompt) => void,
): Step {
  if (step.state.phase === 'ready') send(step, prompt);
  else if (step.state.phase === 'starting') step.inner.prompt = prompt;
  return step.done();
}

/** Answers a permission request that is open; another one is not there any more. */
export function takeAnswer<Inner extends HeldRpc>(
  step: Draft<Inner>,
  key: string,
  respond: (step: Draft<Inner>, id: RpcId) => void,
): Step {
  const { [key]: id, ...others } = step.inner.asks;
  if (id === undefined) return step.done();
  step.inner.asks = others;
  respond(step, id);
  return step.done();
}

/** Takes a line of the agent: a message, or a complaint. */
export function takeLine<Inner extends Held>(
  step: Draft<Inner>,
  line: string,
  stream: 'out' | 'err',
  take: (step: Draft<Inner>, message: Incoming) => void,
): Step {
  if (stream === 'err') step.inner.complaint = keepComplaint(step.inner.complaint, line);
  else {
    const message = parseRpc(line);
    if (message && step.state.phase !== 'ended') take(step, message);
  }
  return step.done();
}

/** A line reached the agent, or could not. */
export function takeDelivered(step: Draft<Held>, id: string, error?: string): Step {
  const { state } = step;
  const isOurs = state.outbox.some((line) => line.id === id);
  state.outbox = state.outbox.filter((line) => line.id !== id);
  if (isOurs && error !== undefined && state.phase !== 'ended')
    step.end('agent.failed', `The agent does not listen any more: ${error}`);
  return step.done();
}

/** The agent's process came up or ended. */
export function takeProcess(step: Draft<Held>, change: AgentProcessState): Step {
  if (step.state.phase === 'ended') return step.done();
  if (change.state === 'failed') step.end('agent.unavailable', `The agent could not be started: ${change.reason}`);
  if (change.state === 'exited') {
    const how = change.reason ?? (change.signal ? `was ended by ${change.signal}` : `ended with code ${change.code}`);
    step.end('agent.failed', step.inner.complaint ? `The agent ${how}: ${step.inner.complaint}` : `The agent ${how}`);
  }
  return step.done();
}

const keepComplaint = (before: string, line: string): string => (line.trim() ? line.trim().slice(0, 400) : before);
