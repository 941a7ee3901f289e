import { PassThrough, type Readable, type Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { SdkHttpError, StreamableHTTPClientTransport, type JSONRPCMessage } from '@modelcontextprotocol/client';
import { parseJSONRPCMessage, STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { ExactAnswers, isObject, readExactly } from '../../schema/index.ts';
import type { Incoming } from './legacy-session.ts';
import { versionKey } from './modern-thin.ts';

export interface BridgeOptions {
  /** Where the server is and with which token; asked again when it is gone or refuses the token. */
  find(): Promise<{ url: string; token: string }>;
  input?: Readable;
  output?: Writable;
  /** Aborted when we are to leave although the client is still there. */
  signal?: AbortSignal;
  onProblem?(message: string): void;
}

const tries = 4;
const pauseMs = 400;
/** How long what was asked may still take when nothing more can be asked. */
const finishMs = 30_000;

type Http = StreamableHTTPClientTransport;

/** Speaks MCP on stdio for a server that speaks it over HTTP, in either era; resolves when the client is gone. */
export async function bridgeStdio(options: BridgeOptions): Promise<void> {
  const input = options.input ?? process.stdin;
  // The transport stops answering when its input ends. Whoever asks no more may still read, so this one does not end.
  const endless = new PassThrough();
  const stdio = new StdioServerTransport(endless, options.output);
  const bridge = new Bridge(options, (message) => void stdio.send(message).catch(() => {}));
  const gone = new Promise<void>((resolve) => {
    stdio.onclose = resolve;
    const finish = (): void => void setImmediate(() => void bridge.answered(finishMs).then(resolve));
    // A file is at its end and stays open; a broken pipe closes without an end.
    input.once('end', finish).once('close', finish);
    if (options.signal?.aborted) resolve();
    options.signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  stdio.onmessage = (message) => bridge.forward(message as Incoming);
  stdio.onerror = (error) => options.onProblem?.(error.message);
  readExactly(stdio, STDIO_DEFAULT_MAX_BUFFER_SIZE, (message) => stdio.onmessage?.(parseJSONRPCMessage(message)));
  await stdio.start();
  input.pipe(endless, { end: false });
  await gone;
  input.destroy();
  await bridge.close();
  await stdio.close();
}

class Bridge {
  readonly #options: BridgeOptions;
  readonly #say: (message: JSONRPCMessage) => void;
  /** Requests without an answer, and where they were sent. */
  readonly #open = new Map<string | number, { control: AbortController; http: Http }>();
  /** Replaced by another one; closed when nothing is open on them. */
  readonly #retired = new Set<Http>();
  readonly #forwarding = new Set<Promise<void>>();
  #onAnswer: (() => void) | undefined;
  #http: Promise<Http> | undefined;
  /** Set while the server is looked for again; whatever is to be sent waits for it. */
  #renewing: Promise<void> | undefined;
  /** Sent again when the server has forgotten us, so that the client need not know. */
  #handshake: Incoming | undefined;
  #version: string | undefined;
  #swallow: { id: string; done: () => void } | undefined;

  constructor(options: BridgeOptions, say: (message: JSONRPCMessage) => void) {
    this.#options = options;
    this.#say = say;
  }

  forward(message: Incoming): void {
    const forwarding = this.#forward(message).finally(() => this.#forwarding.delete(forwarding));
    this.#forwarding.add(forwarding);
  }

  /** Resolves when nothing waits for an answer any more, at most after `ms`. */
  async answered(ms: number): Promise<void> {
    const late = sleep(ms, 'late' as const, { ref: false });
    while (this.#forwarding.size > 0 || this.#open.size > 0) {
      const next =
        this.#forwarding.size > 0
          ? Promise.all(this.#forwarding)
          : new Promise<void>((resolve) => (this.#onAnswer = resolve));
      if ((await Promise.race([next, late])) === 'late') return;
    }
  }

  async #forward(message: Incoming): Promise<void> {
    if (message.method === 'initialize') this.#handshake = message;
    if (message.method === 'notifications/cancelled' && this.#cancel(message)) return;
    for (let attempt = 1; ; attempt++) {
      await this.#renewing;
      const http = (this.#http ??= this.#connect());
      try {
        return await this.#send(message, await http);
      } catch (error) {
        const answer = answerIn(error, message);
        if (answer) {
          this.#closed(message.id!);
          return this.#say(answer);
        }
        if (message.method === 'tools/call' && mayHaveArrived(error)) return this.#fail(message, new BrokenOff());
        const again = attempt < tries && (await this.#recover(error, attempt, http));
        if (!again) return this.#fail(message, error as Error);
      }
    }
  }

  async close(): Promise<void> {
    const http = await this.#http?.catch(() => undefined);
    await http?.terminateSession().catch(() => {});
    for (const each of [...this.#retired, ...(http ? [http] : [])]) await each.close().catch(() => {});
  }

  async #send(message: Incoming, http: Http): Promise<void> {
    const { id, method } = message;
    if (id === undefined || method === undefined) return http.send(message as JSONRPCMessage);
    const control = new AbortController();
    this.#open.set(id, { control, http });
    await http.send(message as JSONRPCMessage, {
      requestSignal: control.signal,
      onRequestStreamEnd: () => {
        if (!control.signal.aborted && this.#closed(id))
          this.#fail(message, new Error('the server ended the answer early'));
      },
    });
  }

  async #connect(): Promise<Http> {
    const { url, token } = await this.#options.find();
    const exact = new ExactAnswers();
    const http = new StreamableHTTPClientTransport(new URL(url), {
      fetch: exact.fetch(fetch),
      requestInit: { headers: { authorization: `Bearer ${token}` } },
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 10_000,
        reconnectionDelayGrowFactor: 1.5,
        maxRetries: 20,
      },
    });
    http.onmessage = (message) => this.#receive(exact.restore(message) as Incoming, http);
    http.onerror = () => {};
    await http.start();
    if (this.#version !== undefined) http.setProtocolVersion(this.#version);
    return http;
  }

  #receive(message: Incoming, http: Http): void {
    const { id, method, result } = message;
    if (method === undefined && id !== undefined) {
      this.#closed(id);
      const version = isObject(result) ? result['protocolVersion'] : undefined;
      if (typeof version === 'string' && (id === this.#handshake?.id || id === this.#swallow?.id)) {
        this.#version = version;
        http.setProtocolVersion(version);
      }
      if (id === this.#swallow?.id) return this.#swallow.done();
    }
    this.#say(message as JSONRPCMessage);
  }

  /** In the 2026 era a request is cancelled by closing its stream; before, the notification itself goes on. */
  #cancel(message: Incoming): boolean {
    const id = message.params?.['requestId'] as string | number;
    if (this.#version === undefined) this.#open.get(id)?.control.abort();
    return this.#closed(id) && this.#version === undefined;
  }

  /** True when the request was still open. */
  #closed(id: string | number): boolean {
    const wasOpen = this.#open.delete(id);
    // Not before the answer is said.
    if (wasOpen)
      queueMicrotask(() => {
        this.#onAnswer?.();
        this.#closeRetired();
      });
    return wasOpen;
  }

  #closeRetired(): void {
    const used = new Set([...this.#open.values()].map(({ http }) => http));
    for (const http of this.#retired)
      if (!used.has(http)) {
        this.#retired.delete(http);
        void http.close().catch(() => {});
      }
  }

  /** True when another try makes sense. `used` is what the request was sent with: who fails later finds it replaced. */
  async #recover(error: unknown, attempt: number, used: Promise<Http>): Promise<boolean> {
    const status = error instanceof SdkHttpError ? Number((error.data as { status?: number }).status) : undefined;
    if (status !== undefined && status !== 401 && status !== 404 && status !== 503) return false;
    const pause = status === undefined || status === 503 ? pauseMs * attempt : 0;
    if (this.#http === used) this.#renewing ??= this.#renew(pause).finally(() => (this.#renewing = undefined));
    await this.#renewing;
    return true;
  }

  /** Looks for the server again and introduces the client anew, if it was introduced before. */
  async #renew(pause: number): Promise<void> {
    const old = await this.#http?.catch(() => undefined);
    this.#http = undefined;
    if (old) this.#retired.add(old);
    if (pause > 0) await sleep(pause);
    if (this.#handshake && this.#version !== undefined) await this.#introduce().catch(() => {});
    this.#closeRetired();
  }

  async #introduce(): Promise<void> {
    const http = await (this.#http ??= this.#connect());
    const id = `again-${Date.now()}`;
    const answered = new Promise<void>((done) => (this.#swallow = { id, done }));
    await http.send({ ...this.#handshake, id } as JSONRPCMessage);
    await Promise.race([answered, sleep(5000, undefined, { ref: false })]);
    await http.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  #fail(message: Incoming, error: Error): void {
    this.#options.onProblem?.(error.message);
    if (message.id === undefined || message.method === undefined) return;
    this.#closed(message.id);
    const text =
      (error instanceof BrokenOff ? error.message : refusalIn(error)) ??
      `Oubliette cannot be reached: ${error.message.slice(0, 300)}. Start it with: oubliette serve`;
    this.#say({ jsonrpc: '2.0', id: message.id, error: { code: -32000, message: text } });
  }
}

/** A call that was on its way when the connection broke. */
class BrokenOff extends Error {
  constructor() {
    super('The connection to Oubliette broke during this call. It may have run: look before you call again.');
  }
}

/** True when the connection broke: of a server that could not be reached at all, or that refused, it is certain. */
function mayHaveArrived(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  return !(error instanceof SdkHttpError) && code !== undefined && brokenOff.has(code);
}

const brokenOff = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'ETIMEDOUT']);

/** What a server that was reached says against a request. */
function refusalIn(error: Error): string | undefined {
  if (!(error instanceof SdkHttpError)) return undefined;
  try {
    const { error: said } = JSON.parse((error.data as { text?: string }).text ?? '') as {
      error?: { message?: unknown };
    };
    return typeof said?.message === 'string' ? said.message : undefined;
  } catch {
    return undefined;
  }
}

/** Refusals of the 2026 era come with an HTTP status and the JSON-RPC answer as their body. */
function answerIn(error: unknown, message: Incoming): JSONRPCMessage | undefined {
  const meta = message.params?.['_meta'];
  if (!(error instanceof SdkHttpError) || !isObject(meta) || !(versionKey in meta)) return undefined;
  const { text } = error.data as { text?: string };
  try {
    const answer = JSON.parse(text ?? '') as Incoming;
    return answer.id === message.id && answer.error ? (answer as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
