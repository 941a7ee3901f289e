import type { Logger } from '../observe/index.ts';
import {
  fail,
  type Actor,
  type Budget,
  type Call,
  type CallOptions,
  type ClientBehind,
  type Outcome,
  type Progress,
  type ToolView,
} from '../schema/index.ts';
import type { Deadline } from './deadline.ts';
import type { Gate } from './gate.ts';

/** What every running call draws on. */
export interface CallPower {
  call: Gate['call'];
  list: (actor: Actor) => Promise<ToolView[]>;
  log: Logger;
  redact: { text(text: string): string; value<T>(value: T): T };
}

/** Stops a tool that calls itself before it exhausts memory or stack. */
const maxDepth = 32;

/** What the gate hands to a tool while it runs. */
export class RunningCall implements Call {
  readonly actor: Actor;
  readonly tool: ToolView;
  readonly requestId: string;
  readonly #power: CallPower;
  readonly #options: CallOptions;
  readonly #deadline: Deadline;

  constructor(
    power: CallPower,
    actor: Actor,
    tool: ToolView,
    requestId: string,
    options: CallOptions,
    deadline: Deadline,
  ) {
    this.actor = actor;
    this.tool = tool;
    this.requestId = requestId;
    this.#power = power;
    this.#options = options;
    this.#deadline = deadline;
  }

  get parent(): string | undefined {
    return this.#options.parent;
  }

  get budget(): Budget | undefined {
    return this.#options.budget;
  }

  get client(): ClientBehind | undefined {
    return this.#options.client;
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  list(): Promise<ToolView[]> {
    return this.#power.list(this.actor);
  }

  invoke(name: string, args: Record<string, unknown>, inner: CallOptions = {}): Promise<Outcome> {
    const { onProgress, onLog, onClientRequest, budget, client, depth = 0 } = this.#options;
    if (depth >= maxDepth) return Promise.reject(tooDeep(name));
    return this.#power.call(this.actor, name, args, {
      ...(onProgress && { onProgress }),
      ...(onLog && { onLog }),
      ...(onClientRequest && { onClientRequest }),
      ...(budget && { budget }),
      ...(client && { client: { capabilities: client.capabilities } }),
      ...inner,
      signal: inner.signal ?? this.#deadline.handedOn,
      parent: this.requestId,
      depth: depth + 1,
    });
  }

  progress(progress: Progress): void {
    if (!this.#deadline.isOver) this.#options.onProgress?.(this.#power.redact.value(progress));
  }

  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields: Record<string, unknown> = {}): void {
    const { log, redact } = this.#power;
    log[level]({ span: 'tool.log', ...fields, tool: this.tool.name, requestId: this.requestId }, message);
    this.#tell({ level, logger: this.tool.name, data: redact.text(message) });
  }

  relayLog(entry: { level: string; logger?: string; data: unknown }): void {
    this.#tell(this.#power.redact.value(entry));
  }

  #tell(entry: { level: string; logger?: string; data: unknown }): void {
    if (!this.#deadline.isOver) this.#options.onLog?.(entry);
  }

  async askClient(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const ask = this.#options.onClientRequest;
    if (!ask) throw fail('not_supported', { what: `${method} (nobody is there to answer it)` });
    return ask(method, params, signal ? AbortSignal.any([this.signal, signal]) : this.signal);
  }
}

const tooDeep = (name: string): Error =>
  fail('tool.failed', {
    reason: `Calls are nested more than ${maxDepth} deep. Does ${name.slice(0, 100)} call itself?`,
  });
