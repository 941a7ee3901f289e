import type {
  JSONRPCMessage,
  Server,
  ServerContext,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server';
import { isLongInteger, isObject, PassingMap, type Actor } from '../../schema/index.ts';
import { RpcError } from '../../sources/mcp/index.ts';
import type { ClientCapabilities, Exchange, JsonObject, RequestId } from './exchange.ts';
import type { Handlers } from './handlers.ts';
import { LegacyExchange } from './legacy-exchange.ts';
import type { Menu } from './menu.ts';
import { streamHead, type HeaderList, type Outlet } from './outlet.ts';

export interface Incoming {
  jsonrpc?: string;
  id?: RequestId;
  method?: string;
  params?: JsonObject;
  result?: unknown;
  error?: { code: number; message: string };
}

/** A well-formed request for which `isHot` is true. */
export type HotRequest = Incoming & { id: RequestId; method: string };

/** A POST that waits for one or several answers. */
interface Post {
  outlet: Outlet;
  /** How many of its requests are not answered yet. */
  left: number;
}

const patienceMs = 10 * 60_000;
const plainHead = streamHead({});

/**
 * One client of the 2025 era: its streams, what it can be asked, and what it is waiting for. The frequent
 * methods are answered directly; all else goes through the SDK's server.
 */
export class LegacySession implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly sessionId?: string;
  /** The headers of its streams, where nothing else is to be said. */
  readonly head: HeaderList;
  readonly menu: Menu;
  actor: Actor;
  clientCapabilities: ClientCapabilities = {};
  logLevel: string | undefined;
  lastUsed = performance.now();
  /** The GET stream, for what belongs to no request. */
  standalone: Outlet | undefined;
  onRootsChanged: (() => void) | undefined;
  onSession: ((sessionId: string, afterIndex: number) => void) | undefined;
  server: Server | undefined;
  readonly #handlers: Handlers;
  readonly #posts = new PassingMap<RequestId, Post>();
  readonly #running = new PassingMap<RequestId, LegacyExchange>();
  readonly #asked = new Map<RequestId, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  #lastAsk = 0;

  constructor(sessionId: string | undefined, actor: Actor, menu: Menu, handlers: Handlers) {
    this.sessionId = sessionId;
    this.head = sessionId === undefined ? plainHead : streamHead({}, sessionId);
    this.actor = actor;
    this.menu = menu;
    this.#handlers = handlers;
  }

  get isBusy(): boolean {
    return this.#posts.size > 0 || this.#running.size > 0 || (this.standalone?.isOpen ?? false);
  }

  /** True while a request of this id waits for its answer: another one could not be told apart from it. */
  isUsed(id: RequestId | undefined): boolean {
    return id !== undefined && this.#posts.has(id);
  }

  async start(): Promise<void> {}

  /** Takes the messages of one POST; the answers of its requests share `outlet`. */
  take(messages: readonly Incoming[], outlet: Outlet | undefined): void {
    this.lastUsed = performance.now();
    if (outlet) {
      const ids = new Set(messages.flatMap((each) => (isRequest(each) ? [each.id] : [])));
      const post: Post = { outlet, left: ids.size };
      for (const id of ids) this.#posts.set(id, post);
    }
    for (const message of messages) this.#one(message);
  }

  /** Takes a POST of one frequent request (see `isHot`). */
  takeHot(id: RequestId, method: string, params: JsonObject, outlet: Outlet): void {
    this.lastUsed = performance.now();
    this.#posts.set(id, { outlet, left: 1 });
    void this.#serve(id, method, params);
  }

  #one(message: Incoming): void {
    const { id, method, params } = message;
    if (method === undefined) return this.#answered(message);
    if (id === undefined) {
      if (method === 'notifications/cancelled') this.#cancel(params?.['requestId'] as RequestId);
      if (method === 'notifications/roots/list_changed') this.onRootsChanged?.();
      return this.onmessage?.(message as JSONRPCMessage);
    }
    if (method === 'ping') return void this.send({ result: {}, jsonrpc: '2.0', id });
    if (isHot(message)) return void this.#serve(id, method, params ?? {});
    if (method === 'initialize' && isObject(params?.['capabilities']))
      this.clientCapabilities = params['capabilities'] as ClientCapabilities;
    this.onmessage?.(message as JSONRPCMessage);
  }

  async #serve(id: RequestId, method: string, params: JsonObject): Promise<void> {
    const exchange = new LegacyExchange(this, id, (params['_meta'] as JsonObject | undefined)?.['progressToken']);
    this.#running.set(id, exchange);
    let answer: object;
    try {
      const result =
        method === 'tools/call'
          ? this.#handlers.callTool(exchange, params)
          : this.#handlers.listTools(exchange, params);
      answer = { result: await result, jsonrpc: '2.0', id };
    } catch (error) {
      answer = { jsonrpc: '2.0', id, error: rpcError(error) };
    }
    // Whoever cancelled it may have used its id again.
    if (this.#running.get(id) === exchange) this.#running.delete(id);
    if (!exchange.isCancelled) this.#settle(id, answer);
  }

  exchangeOf({ mcpReq: { id, signal, _meta } }: ServerContext): Exchange {
    return new LegacyExchange(this, id, _meta?.progressToken, signal);
  }

  /** Says something on the stream of a request. */
  tell(id: RequestId, message: object): void {
    (this.#posts.get(id)?.outlet ?? this.standalone)?.write(message);
  }

  /** A question that belongs to no request. */
  ask(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    return this.askOn('', method, params, signal);
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { id, method } = message as Incoming;
    if (method !== undefined || id === undefined) {
      const related =
        options?.relatedRequestId === undefined ? undefined : this.#posts.get(options.relatedRequestId)?.outlet;
      return (related ?? this.standalone)?.write(message);
    }
    this.#settle(id, message);
  }

  /** Gives a request its answer; without one, nobody waits for it any more. */
  #settle(id: RequestId, answer?: object): void {
    const post = this.#posts.get(id);
    if (!post) return;
    this.#posts.delete(id);
    post.left--;
    if (post.left === 0) post.outlet.end(answer);
    else if (answer) post.outlet.write(answer);
  }

  /** A question on the stream of a request. */
  askOn(id: RequestId, method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const askId = `ask-${++this.#lastAsk}`;
    const outlet = this.#posts.get(id)?.outlet ?? this.standalone;
    if (!outlet?.isOpen) return Promise.reject(new RpcError(-32603, 'the client is not listening'));
    return new Promise((resolve, reject) => {
      const give = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        this.#asked.delete(askId);
      };
      const stop = (): void => {
        give();
        outlet.write({ method: 'notifications/cancelled', params: { requestId: askId }, jsonrpc: '2.0' });
        reject(new RpcError(-32603, 'no answer from the client'));
      };
      const timer = setTimeout(stop, patienceMs);
      signal.addEventListener('abort', stop, { once: true });
      this.#asked.set(askId, {
        resolve: (value) => (give(), resolve(value)),
        reject: (error) => (give(), reject(error)),
      });
      outlet.write({ method, params, jsonrpc: '2.0', id: askId });
    });
  }

  #answered(message: Incoming): void {
    const asked = message.id === undefined ? undefined : this.#asked.get(message.id);
    if (!asked) return this.onmessage?.(message as JSONRPCMessage);
    if (message.error) asked.reject(new RpcError(message.error.code, message.error.message));
    else asked.resolve(message.result);
  }

  #cancel(id: RequestId): void {
    this.#running.get(id)?.cancel();
    this.#settle(id);
  }

  async close(): Promise<void> {
    for (const exchange of this.#running.values()) exchange.cancel();
    for (const { outlet } of this.#posts.values()) outlet.end();
    for (const asked of this.#asked.values()) asked.reject(new RpcError(-32603, 'the session is over'));
    this.#posts.clear();
    this.standalone?.end();
    this.standalone = undefined;
    this.onclose?.();
  }
}

export const isRequest = (message: Incoming): message is Incoming & { id: RequestId; method: string } =>
  message.method !== undefined && message.id !== undefined;

/** Requests that are well formed and frequent; whatever is odd about one is told by the SDK. */
export function isHot({ method, params }: Incoming): boolean {
  if (params !== undefined && !isObject(params)) return false;
  const meta = params?.['_meta'];
  if (meta !== undefined && (!isObject(meta) || !isToken(meta['progressToken']))) return false;
  if (method === 'tools/list') return params?.['cursor'] === undefined || typeof params['cursor'] === 'string';
  if (method !== 'tools/call' || typeof params?.['name'] !== 'string' || params['task'] !== undefined) return false;
  return params['arguments'] === undefined || isObject(params['arguments']);
}

const isToken = (token: unknown): boolean =>
  token === undefined || typeof token === 'string' || Number.isInteger(token) || isLongInteger(token);

export function rpcError(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } = error as RpcError;
  return { code, message, ...(data !== undefined && { data }) };
}
