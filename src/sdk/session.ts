import type { JsonObject, SessionEvent } from '../schema/index.ts';
import { followSession, type Frame } from './event-stream.ts';
import { OublietteError, type Http } from './http.ts';

/** A tool that this program lends to the agent; the agent sees it as `<callerId>_<name>`. */
export interface LentTool<Args = any> {
  description?: string;
  /** JSON Schema of the arguments; they are checked before `run` is bothered. */
  schema?: object;
  /** What it answers goes back to the agent; what it throws reaches the agent as an error. */
  run(args: Args, call: { requestId: string; signal: AbortSignal }): unknown;
}

export interface SessionOptions {
  /** Prefix of the lent tools. */
  callerId?: string;
  tools?: Record<string, LentTool>;
  agent?: string;
  model?: string;
  /** Go on in this workspace instead of the default one. */
  workspaceId?: string;
  grant?: { scope: 'read' | 'write' | 'admin'; bundles?: string[]; projects?: string[] };
  permissions?: 'auto' | 'deny' | 'ask';
  /** What happens to a waiting request when this program goes away. */
  onDisconnect?: 'fail' | 'wait';
  timeoutMs?: number;
}

export interface SendOptions {
  attachments?: { blob_id: string; name: string }[];
  idempotencyKey?: string;
}

/** One message and all that follows until the agent is idle. */
export interface Turn extends AsyncIterable<SessionEvent> {
  readonly number: number;
  /** The agent's answer, once the turn is over; throws when it failed. */
  text(): Promise<string>;
}

interface Sent {
  session_id: string;
  workspace_id: string;
  spawned: boolean;
  turn: number;
  last_event_index: number;
}

const isOver = (event: SessionEvent): event is Extract<SessionEvent, { type: 'status' }> =>
  event.type === 'status' && ['ended', 'failed', 'timed_out'].includes(event.status);

/** How a turn without an answer ended; the agent has dealt with any other error itself. */
const brokenOff = new Set(['error', 'failed', 'cancelled', 'interrupted']);

/** One agent at work. Lent tools are answered for as long as this object is open. */
export class Session {
  readonly #http: Http;
  readonly #options: SessionOptions;
  readonly #closing = new AbortController();
  readonly #answered = new Set<string>();
  #target: { project_id: string } | { session_id: string };
  #isDeclared = false;
  #isListening = false;
  /** The first message on its way: what it begins is what the next one goes on with. */
  #beginning: Promise<Sent> | undefined;

  constructor(http: Http, target: { project_id: string } | { session_id: string }, options: SessionOptions) {
    this.#http = http;
    this.#target = target;
    this.#options = options;
  }

  /** Its id; undefined before the first message of a new one. */
  get id(): string | undefined {
    return 'session_id' in this.#target ? this.#target.session_id : undefined;
  }

  /** Sends a message; answers as soon as the server has it for good. */
  async send(text: string, options: SendOptions = {}): Promise<Turn> {
    while (this.#beginning) await this.#beginning.catch(() => {});
    const sending = this.#post(text, options);
    if (this.id === undefined) this.#beginning = sending.finally(() => (this.#beginning = undefined));
    const sent = await (this.#beginning ?? sending);
    if (this.#options.tools && !this.#isListening) void this.#answerRequests(sent.last_event_index);
    return this.#turn(sent);
  }

  async #post(text: string, options: SendOptions): Promise<Sent> {
    const { agent, model, workspaceId, grant, permissions } = this.#options;
    const isNew = this.id === undefined;
    const sent = await this.#http.call<Sent>(isNew ? 'session_spawn' : 'session_message', {
      ...this.#target,
      message: text,
      ...(isNew && {
        ...(agent && { agent }),
        ...(model && { model }),
        ...(workspaceId && { workspace_id: workspaceId }),
        ...(grant && { grant }),
      }),
      ...(permissions && { permissions }),
      ...this.#declaration(),
      ...(options.attachments && { attachments: options.attachments }),
      ...(options.idempotencyKey && { idempotency_key: options.idempotencyKey }),
    });
    this.#isDeclared = true;
    this.#target = { session_id: sent.session_id };
    return sent;
  }

  /** Sends a message and answers what the agent said when its turn was over. */
  async ask(text: string, options: SendOptions = {}): Promise<string> {
    return (await this.send(text, options)).text();
  }

  /** Every stored event in order, from after an index (-1: all), until the session is over; survives cut connections. */
  async *events({ after = -1, signal }: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<SessionEvent> {
    let newest = -1;
    for await (const frame of this.#frames(after, signal)) {
      if (frame.event === 'hello') newest = (frame.data as { newest: number }).newest;
      const event = frame.data as SessionEvent;
      if (typeof event?.index !== 'number' || frame.event === 'ask_pending') continue;
      yield event;
      // If more events follow the end, the session was resumed.
      if (isOver(event) && event.index >= newest) return;
    }
  }

  /** The same with live pieces of messages (`delta`) and the stream's own frames. */
  frames({ after = -1, signal }: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<Frame> {
    return this.#frames(after, signal);
  }

  /** Answers a permission request. */
  async answer(requestId: string, choice: string): Promise<void> {
    await this.#http.call('session_answer', { ...this.#known(), request_id: requestId, choice });
  }

  /** Stops the turn that is under way. */
  async cancel(): Promise<void> {
    await this.#http.call('session_cancel', this.#known());
  }

  /** Ends the session; resolves when its processes are gone. */
  async end(): Promise<void> {
    await this.#http.call('session_end', this.#known());
    this.close();
  }

  /** Stops answering and following here; the session itself goes on. */
  close(): void {
    this.#closing.abort();
  }

  #known(): { session_id: string } {
    if ('session_id' in this.#target) return this.#target;
    throw new OublietteError('session.not_found', 'This session has not begun. Send a message first.', 0);
  }

  #frames(after: number, signal?: AbortSignal): AsyncGenerator<Frame> {
    const both = signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
    return followSession(this.#http, this.#known().session_id, after, both);
  }

  #declaration(): object {
    const { callerId, tools, onDisconnect, timeoutMs } = this.#options;
    if (!tools || this.#isDeclared) return {};
    const caller_tools = Object.entries(tools).map(([name, { description, schema }]) => ({
      name,
      ...(description !== undefined && { description }),
      ...(schema !== undefined && { inputSchema: schema }),
    }));
    return {
      context: {
        caller_id: callerId ?? 'caller',
        caller_tools,
        ...(onDisconnect && { on_disconnect: onDisconnect }),
        ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
      },
    };
  }

  async #answerRequests(after: number): Promise<void> {
    this.#isListening = true;
    try {
      for await (const frame of this.#frames(after))
        if (frame.event === 'caller_tool_request' || frame.event === 'ask_pending')
          void this.#serve(frame.data as Request);
    } catch {
      // The stream was refused for good (token revoked, session removed): whoever sends next is told.
    } finally {
      this.#isListening = false;
    }
  }

  async #serve(request: Request): Promise<void> {
    const { request_id, tool } = request;
    const lent = this.#options.tools?.[tool];
    if (!lent || this.#answered.has(request_id)) return;
    this.#answered.add(request_id);
    const call = { requestId: request_id, signal: this.#closing.signal };
    const answer = await Promise.resolve()
      .then(() => lent.run(request.arguments, call))
      .then(asAnswer)
      .catch((error: unknown) => ({ error: reasonOf(error) }));
    await this.#respond(request_id, answer);
  }

  /** Retried while the server is away. An answer that is refused becomes an error, so that the agent does not wait in vain. */
  async #respond(request_id: string, answer: Answer): Promise<void> {
    for (let waitMs = 100; !this.#closing.signal.aborted; waitMs = Math.min(waitMs * 2, 5000)) {
      try {
        await this.#http.call('caller_tool_response', { ...this.#known(), request_id, ...answer });
        return;
      } catch (error) {
        if (error instanceof OublietteError && !error.retryable) {
          const isAnswerAtFault = error.status === 400 || error.status === 413;
          if (isAnswerAtFault && 'result' in answer) await this.#respond(request_id, { error: error.message });
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }

  #turn(sent: Sent): Turn {
    const events = (): AsyncGenerator<SessionEvent> => this.#turnEvents(sent);
    return {
      number: sent.turn,
      [Symbol.asyncIterator]: events,
      async text() {
        let why = 'it was closed here';
        let failure: OublietteError | undefined;
        for await (const event of events()) {
          if (event.type === 'error') failure = new OublietteError(event.code, event.message, 200);
          if (event.type === 'completion' && !(failure && brokenOff.has(event.stop_reason))) return event.text;
          if (isOver(event)) why = `its status is ${event.status}`;
        }
        if (failure) throw failure;
        throw new OublietteError('session.state', `The session was over before this turn was: ${why}.`, 409);
      },
    };
  }

  async *#turnEvents({ turn, last_event_index }: Sent): AsyncGenerator<SessionEvent> {
    for await (const event of this.events({ after: last_event_index })) {
      // Messages may wait for each other; when the session ends, so do they all.
      if (event.turn !== turn && !isOver(event)) continue;
      yield event;
      if (event.type === 'completion' || isOver(event)) return;
    }
  }
}

type Answer = { result: unknown } | { error: string };

/** Throws for what JSON cannot express. */
function asAnswer(result: unknown): Answer {
  JSON.stringify(result);
  return { result: result ?? null };
}

const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message || error.name : String(error)).slice(0, 10_000) || 'the tool failed';

interface Request {
  request_id: string;
  tool: string;
  arguments: JsonObject;
}
