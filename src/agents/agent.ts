import type { AgentConfig, AgentProcessState } from '../schema/index.ts';

/** An MCP server that the agent shall start by itself inside the sandbox (stdio is what all agents accept). */
export interface McpServerSpec {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** What an agent needs to know to begin. All paths are paths inside the sandbox. */
export interface AgentSpec {
  config: AgentConfig;
  cwd: string;
  mcpServers: McpServerSpec[];
  model?: string;
  /** The agent's own session id from before: resume its transcript where it can. */
  resume?: string;
  /** What to do with permission requests without asking anyone. `ask` hands them out as events. */
  permissions: 'auto' | 'deny' | 'ask';
  /** Counts the starts of an agent in one sandbox, from 1: the supervisor takes each line's id only once. */
  run?: number;
}

export interface Attachment {
  /** Path inside the sandbox. */
  path: string;
  name: string;
  mimeType?: string;
}

export interface Prompt {
  text: string;
  attachments?: Attachment[];
}

export interface PermissionOption {
  id: string;
  name: string;
  kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';
}

/** What the owner of the session stores (docs/sessions.md), without index, time, session and turn, which it adds. */
export type AgentEvent =
  | { type: 'message'; role: 'agent'; text: string; message_id: string }
  | { type: 'thought'; text: string }
  | { type: 'tool_call'; call_id: string; tool: string; arguments: unknown }
  | { type: 'tool_result'; call_id: string; is_error: boolean; text: string }
  | { type: 'plan'; entries: { content: string; status: string; priority?: string }[] }
  /** `key` names it towards `answer`; the owner makes the ask and its request_id. */
  | { type: 'permission_request'; key: string; tool: string; options: PermissionOption[] }
  /** The agent's own claim; what counts is metered at the model door. */
  | { type: 'usage'; input_tokens: number; output_tokens: number; cost_usd: number }
  | { type: 'completion'; stop_reason: string; text: string }
  | { type: 'error'; code: 'agent.failed' | 'agent.unavailable'; message: string };

/** Live only, never stored. */
export interface Delta {
  type: 'message' | 'thought';
  text: string;
}

/**
 * `starting`: not yet ready for a prompt. `ready`: idle. `busy`: a turn runs. `ended`: the process is over or
 * broken for good; a last `error` event said why.
 */
export type AgentPhase = 'starting' | 'ready' | 'busy' | 'ended';

/**
 * One conversation with an agent, as a plain JSON value. It changes only through a driver's functions, so whoever
 * stores it together with the events and the read offset can go on after a crash as if nothing had happened.
 */
export interface AgentState {
  driver: 'acp' | 'droid';
  phase: AgentPhase;
  /** The agent's own id of the session, for a later resume. */
  agentSession?: string;
  /** True when `resume` was asked for and the agent could not: it starts with an empty transcript. */
  resumeFailed?: boolean;
  /** Lines that are not yet known to have reached the agent's stdin; ids as in SupervisorCommand. */
  outbox: { id: string; line: string }[];
  /** What only the driver understands. */
  inner: unknown;
}

export interface Step {
  state: AgentState;
  events: AgentEvent[];
  deltas: Delta[];
}

/**
 * Speaks one agent protocol; knows nothing of containers. All functions are pure: same state and input, same
 * step. None throws on what an agent sends. After storing a step, send every line of `state.outbox` that was not
 * sent yet as a `write` command with its id.
 */
export interface AgentDriver {
  readonly name: AgentState['driver'];
  /** The first lines after the process was started. */
  open(spec: AgentSpec): Step;
  /** Only in phase `starting` (kept until ready) or `ready`. */
  prompt(state: AgentState, prompt: Prompt): Step;
  /** Asks the agent to stop the turn; the turn ends with a completion of stop_reason `cancelled`. */
  cancel(state: AgentState): Step;
  /** Answers a permission request by option id; null refuses by cancelling it. Unknown keys change nothing. */
  answer(state: AgentState, key: string, optionId: string | null): Step;
  /** A line of the agent's stdout or stderr. */
  line(state: AgentState, line: string, stream?: 'out' | 'err'): Step;
  /** A line was written to the agent's stdin. */
  delivered(state: AgentState, id: string, error?: string): Step;
  /** The process started, stopped or failed. */
  process(state: AgentState, change: AgentProcessState): Step;
}
