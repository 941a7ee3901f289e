import type { JSONRPCMessage, Transport, TransportSendOptions } from '@modelcontextprotocol/client';
import {
  isLongInteger,
  numberOf,
  PassingMap,
  roundLongIntegers,
  textOf,
  type ExactAnswers,
} from '../../schema/index.ts';
import { Pending, type RequestOptions } from './pending.ts';

export { WireTimeout, type RequestOptions } from './pending.ts';

/** An error that the upstream server answered. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const noReason = 'the server answered an error without a reason';

/** The connection ended before the answer came. */
export class WireClosed extends Error {}

export interface WireHooks {
  onNotification(method: string, params: Record<string, unknown>): void;
  /** Reverse requests of the 2025 era; what it throws becomes the error that the server reads. */
  onRequest(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<unknown>;
}

type Incoming = {
  id?: string | number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
};

const reverseMethods = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);
/** Far above what the SDK's own counter reaches, so that both can share one connection. */
const firstId = 1_000_000_000;
/** Questions of a server that may wait at once; as many more are refused, and beyond that they are not heard. */
const mostQuestions = 100;
/** How long a server may take to receive what needs no answer. */
const noticeMs = 5_000;

/**
 * A transport that stands between the SDK's client and the real one. The SDK negotiates the era and keeps the
 * connection; calls go through `request` as they are, so nothing a server says is lost in a schema.
 */
export class Wire implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly hasPerRequestStream?: boolean;
  /** The `_meta` that every request of the 2026 era carries. */
  envelope: Record<string, unknown> | undefined;
  readonly #inner: Transport;
  readonly #hooks: WireHooks;
  readonly #exact: ExactAnswers | undefined;
  readonly #pending = new PassingMap<number, Pending>();
  readonly #reverse = new Map<string | number, AbortController>();
  #nextId = firstId;
  #isClosed = false;
  #refusing = 0;

  /** Without `exact` the real transport itself keeps long integers as they are written. */
  constructor(inner: Transport, hooks: WireHooks, exact?: ExactAnswers) {
    this.#inner = inner;
    this.#hooks = hooks;
    this.#exact = exact;
    this.hasPerRequestStream = (inner as { hasPerRequestStream?: boolean }).hasPerRequestStream;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#take(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => this.#end();
    await this.#inner.start();
  }

  /** Whatever wants no answer is given up soon: a server that leaves such requests open would use up all connections. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!this.hasPerRequestStream || options?.requestSignal || ('method' in message && 'id' in message))
      return this.#inner.send(message, options);
    return this.#inner.send(message, { ...options, requestSignal: AbortSignal.timeout(noticeMs) });
  }

  async close(): Promise<void> {
    await this.#inner.close();
    this.#end();
  }

  /** True while any request has no answer. */
  get isWaiting(): boolean {
    return this.#pending.size > 0;
  }

  /** Sends one request as it is and answers its raw result. */
  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<Record<string, unknown>> {
    if (this.#isClosed) return Promise.reject(new WireClosed('the connection is closed'));
    const id = this.#nextId++;
    const message = {
      jsonrpc: '2.0',
      id,
      method,
      params: this.#withMeta(params, options.call?.progress ? id : undefined),
    } as const;
    const stream = this.hasPerRequestStream ? new AbortController() : undefined;
    return new Promise((resolve, reject) => {
      const giveUp = (reason: string): void => {
        this.#pending.delete(id);
        this.#cancel(id, reason, stream);
      };
      this.#pending.set(id, new Pending(options, resolve, reject, giveUp));
      this.#inner
        .send(message, stream || options.headers ? this.#sendOptions(id, options, stream) : undefined)
        .catch((error: Error) => this.#taken(id)?.reject(error));
    });
  }

  #sendOptions(id: number, { headers }: RequestOptions, stream: AbortController | undefined): TransportSendOptions {
    return {
      ...(headers && { headers }),
      ...(stream && {
        requestSignal: stream.signal,
        onRequestStreamEnd: () => this.#taken(id)?.reject(new WireClosed('the stream ended before the answer')),
      }),
    };
  }

  /** The request of this id, which is about to be answered. */
  #taken(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  notify(method: string, params: Record<string, unknown>): Promise<void> {
    return this.send({ jsonrpc: '2.0', method, params: this.#withMeta(params) });
  }

  #withMeta(params: Record<string, unknown>, progressToken?: number): Record<string, unknown> {
    if (!this.envelope && progressToken === undefined) return params;
    const own = params['_meta'] as Record<string, unknown> | undefined;
    return { ...params, _meta: { ...this.envelope, ...own, ...(progressToken !== undefined && { progressToken }) } };
  }

  #cancel(id: number, reason: string, stream: AbortController | undefined): void {
    // In the 2026 era a closed stream is the cancellation; before, it takes a notification.
    if (!this.envelope || !stream)
      void this.notify('notifications/cancelled', { requestId: id, reason }).catch(() => {});
    stream?.abort();
  }

  /** Whatever a server sends, it must not end more than its own connection. */
  #take(message: JSONRPCMessage): void {
    try {
      this.#receive(this.#exact?.restore(message) ?? message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  /** Integers that are kept as they are written stay so in all that we hand on ourselves. */
  #receive(message: JSONRPCMessage): void {
    const { id, method, params } = message as Incoming;
    if (method === undefined) {
      if (!this.#settle(message as Incoming)) this.#leave(message);
      return;
    }
    if (id !== undefined && reverseMethods.has(method) && !this.envelope)
      return void this.#answer(id, method, params ?? {});
    if (id !== undefined) return this.#leave(message);
    if (method === 'notifications/progress' && this.#progress(params ?? {})) return;
    if (method === 'notifications/cancelled') this.#reverse.get(params?.['requestId'] as string | number)?.abort();
    this.#hooks.onNotification(method, params ?? {});
    this.#leave(message);
  }

  /** The SDK knows numbers only. */
  #leave(message: JSONRPCMessage): void {
    this.onmessage?.(roundLongIntegers(message));
  }

  /** Hands an answer to whoever waits for it; false when that is not one of ours. */
  #settle({ id, result, error }: Incoming): boolean {
    const pending = typeof id === 'number' ? this.#taken(id) : undefined;
    if (!pending) return false;
    if (error) pending.reject(new RpcError(numberOf(error.code), textOf(error.message) || noReason, error.data));
    else if (typeof result === 'object' && result !== null && !isLongInteger(result)) pending.resolve(result);
    else pending.reject(new RpcError(-32603, 'the server answered neither a result nor an error'));
    return true;
  }

  #progress(params: Record<string, unknown>): boolean {
    const pending = this.#pending.get(numberOf(params['progressToken']));
    if (!pending) return false;
    const { progress, total, message } = params;
    pending.progress({
      progress: numberOf(progress),
      ...(total !== undefined && { total: numberOf(total) }),
      ...(message !== undefined && { message: textOf(message) }),
    });
    return true;
  }

  async #answer(id: string | number, method: string, params: Record<string, unknown>): Promise<void> {
    if (this.#reverse.size >= mostQuestions) return this.#refuse(id);
    const control = new AbortController();
    this.#reverse.set(id, control);
    try {
      const result = (await this.#hooks.onRequest(method, params, control.signal)) as Record<string, unknown>;
      await this.send({ jsonrpc: '2.0', id, result });
    } catch (error) {
      const { code, message } = error as RpcError;
      const answer = { code: typeof code === 'number' ? code : -32603, message: message ?? 'failed' };
      await this.send({ jsonrpc: '2.0', id, error: answer }).catch(() => {});
    } finally {
      this.#reverse.delete(id);
    }
  }

  async #refuse(id: string | number): Promise<void> {
    if (this.#refusing >= mostQuestions) return;
    this.#refusing++;
    const error = { code: -32603, message: `more than ${mostQuestions} questions at once` };
    await this.send({ jsonrpc: '2.0', id, error }).catch(() => {});
    this.#refusing--;
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const pending of this.#pending.values()) pending.reject(new WireClosed('the connection was closed'));
    this.#pending.clear();
    for (const control of this.#reverse.values()) control.abort();
    this.onclose?.();
  }
}

/** The same over a process; the SDK tells processes from HTTP by these members. */
export class ProcessWire extends Wire {
  get pid(): number | null {
    return null;
  }
  get stderr(): null {
    return null;
  }
}

/** True when the network, not the server, is the trouble. */
export function isNetworkError(error: unknown): boolean {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  return (
    (typeof code === 'string' && /^(E[A-Z]+|UND_ERR_\w+)$/.test(code)) ||
    (cause !== undefined && isNetworkError(cause ?? {}))
  );
}
