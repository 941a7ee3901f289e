import type { Actor } from './actor.ts';
import type { ToolResult } from './content.ts';
import type { Tool, ToolView } from './tool.ts';

/** Progress of a long call, as MCP counts it. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** What inner calls of one program share: how many are left and when all must be over. */
export interface Budget {
  callsLeft: number;
  depthLeft: number;
  /** On the monotonic clock: `performance.now()`. */
  deadline: number;
}

/** The answer of a call that was dispatched: a failure after dispatch is a value, not an exception. */
export type Outcome =
  | {
      ok: true;
      value: unknown;
      result: ToolResult;
      /** The value as JSON, where the gate wrote it down to measure it: doors that send JSON need not do so again. */
      json?: string;
    }
  | {
      ok: false;
      error: { code: string; message: string; retryable: boolean };
      result?: ToolResult;
    };

/** The MCP client behind a call, as far as an upstream server may know it. */
export interface ClientBehind {
  /** What it can be asked for, as it declared it. */
  capabilities: Record<string, unknown>;
  /**
   * Set when the client can take questions as an answer (2026 era) and the tool itself was called, not a program:
   * a server of that era then speaks with it directly. Holds what the client brought back.
   */
  round?: { inputResponses?: Record<string, unknown>; requestState?: string };
}

/** Options that a door passes along with a call. */
export interface CallOptions {
  /** Ends the call. A function is asked only when somebody listens: most calls end before that. */
  signal?: AbortSignal | (() => AbortSignal);
  onProgress?: (progress: Progress) => void;
  onLog?: (entry: { level: string; logger?: string; data: unknown }) => void;
  /** Reverse requests of upstream servers (elicitation, sampling, roots): the door that has a client answers. */
  onClientRequest?: (method: string, params: unknown, signal: AbortSignal) => Promise<unknown>;
  client?: ClientBehind;
  requestId?: string;
  parent?: string;
  /** How many calls stand above this one. */
  depth?: number;
  budget?: Budget;
}

/**
 * What a running tool may do. Power comes by argument: a handler reaches the rest of the system only through
 * this object, and every `invoke` passes the gate again under its own name, as the same actor.
 */
export interface Call {
  readonly actor: Actor;
  readonly tool: ToolView;
  readonly requestId: string;
  readonly parent?: string | undefined;
  readonly signal: AbortSignal;
  readonly budget?: Budget | undefined;
  readonly client?: ClientBehind | undefined;
  /** All tools this actor may see. */
  list(): Promise<ToolView[]>;
  /** Calls another tool by name (`demo_foo`); throws a Failure when refused, answers an Outcome when dispatched. */
  invoke(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<Outcome>;
  progress(progress: Progress): void;
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void;
  /** Hands a log entry of an upstream server, as it came, to whoever called. */
  relayLog?(entry: { level: string; logger?: string; data: unknown }): void;
  /** Forwards a reverse request to whoever called; rejects when that door has no client to ask. `signal` takes it back. */
  askClient(method: string, params: unknown, signal?: AbortSignal): Promise<unknown>;
}

/** A function tool's handler: returns a JSON value, or a ToolResult made by `toolResult`. */
export type Handler = (args: Record<string, unknown>, call: Call) => unknown | Promise<unknown>;

/** How tools of one source are checked and run. */
export interface Source {
  /** Checks a tool body when it is stored; throws a Failure (400) that names the field. */
  check(tool: Tool): void | Promise<void>;
  /** Why a stored tool cannot run now (function gone, tool missing); undefined when it can. Must be cheap. */
  disabledReason?(tool: Tool): string | undefined;
  /** The level a call needs before a stored `access` raises it. */
  level(tool: Tool): Actor['level'];
  /** Runs it. Throw a Failure with a dispatch code, or any Error (becomes `tool.failed`). */
  run(tool: ToolView, args: Record<string, unknown>, call: Call): Promise<ToolResult>;
  /** The same for a source that need not always be waited for. */
  runNow?(tool: ToolView, args: Record<string, unknown>, call: Call): ToolResult | Promise<ToolResult>;
}
