import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  classifyInboundRequest,
  isInitializeRequest,
  isJsonContentType,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject, parseRpc, type Actor } from '../../schema/index.ts';
import { handlers as makeHandlers } from './handlers.ts';
import { isHot, isRequest, type HotRequest, type Incoming } from './legacy-session.ts';
import { LegacySessions } from './legacy-sessions.ts';
import type { McpDoorDeps, Post } from './mcp-door.ts';
import { Menus, type Menu } from './menu.ts';
import { ModernSdk } from './modern-sdk.ts';
import { isThin, serveThin, versionKey } from './modern-thin.ts';
import { Outlet, sendRpcError, streamHead } from './outlet.ts';
import { resources } from './resources.ts';

/** What a request needs on its way through. */
interface Visit {
  actor: Actor;
  menu: Menu;
  url: string;
  method: string;
  given: IncomingHttpHeaders;
  response: ServerResponse;
  /** Headers that hooks have set (CORS); undefined when there are none. */
  headers: OutgoingHttpHeaders | undefined;
  body: string;
}

const mostInBatch = 100;
const menuPauseMs = 50;
const welcomeMs = 1000;
const idInUse = 'Invalid Request: this request id is still waiting for its answer';

/** How requests are served, once there are any. */
export interface Visits {
  visit(request: FastifyRequest, reply: FastifyReply, menu: Menu): Promise<void>;
  /** A POST that the router has not seen; it gets it, unread, when there is anything to refuse. */
  pass(post: Post, menu: Menu): Promise<void>;
  close(): Promise<void>;
}

/** Opens what serves MCP in both eras. */
export function openVisits(deps: McpDoorDeps): Visits {
  const { gate, log, version } = deps;
  const menus = new Menus(deps);
  const handlers = makeHandlers({ gate, menus, resources: resources(gate), log });
  const serverInfo = { name: 'oubliette', version };
  const sessions = new LegacySessions({ version, menus, handlers, feed: deps.feed });
  const listeners = new Set<() => void>();
  const onMenuChange = (listener: () => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const modern = new ModernSdk({ version, menus, handlers, log, feed: deps.feed, onMenuChange });
  let pending: NodeJS.Timeout | undefined;
  const stopMenu = gate.onMenuChange(() => {
    // Many changes at once are one piece of news.
    pending ??= setTimeout(() => {
      pending = undefined;
      listeners.forEach((listener) => listener());
      void sessions.menuChanged();
    }, menuPauseMs);
  });

  async function visit(request: FastifyRequest, reply: FastifyReply, menu: Menu): Promise<void> {
    const actor = await deps.authenticate(request);
    await menus.demand(actor, menu);
    const headers = { ...(reply.getHeaders() as OutgoingHttpHeaders) };
    reply.hijack();
    const { method, url, headers: given } = request;
    const body = typeof request.body === 'string' ? request.body : '';
    serve({ actor, menu, url, method, given, response: reply.raw, headers, body });
  }

  async function pass(post: Post, menu: Menu): Promise<void> {
    const { request, response } = post;
    let actor: Actor;
    try {
      actor = await deps.authenticate(request);
    } catch {
      return post.route();
    }
    if (!menus.isReached(actor, menu)) return post.route();
    const read = post.body();
    const body = read instanceof Buffer ? read : await read;
    if (body === undefined) return;
    const { method = '', url = '', headers: given } = request;
    serve({ actor, menu, url, method, given, response, headers: undefined, body: body.toString() });
  }

  function serve(seen: Visit): void {
    try {
      route(seen)?.catch((error: unknown) => broken(seen, error));
    } catch (error) {
      broken(seen, error);
    }
  }

  function broken({ response, url, headers = {} }: Visit, error: unknown): void {
    log.error({ span: 'mcp.request', err: error, path: url }, 'an MCP request broke');
    if (!response.headersSent) sendRpcError(response, 500, -32603, 'Internal server error', headers);
    else response.end();
  }

  /** A token that was revoked or has expired closes what it opened. */
  function watchWelcome({ response, given }: Visit): void {
    const check = async (): Promise<unknown> => deps.authenticate({ headers: given });
    const timer = setInterval(() => void check().catch(() => response.destroy()), welcomeMs);
    onceClosed(response, () => clearInterval(timer));
  }

  function route(seen: Visit): Promise<void> | undefined {
    if (seen.method === 'GET') return openStream(seen);
    if (seen.method === 'DELETE') return endSession(seen);
    if (seen.method !== 'POST') return refuse(seen, 405, -32000, 'Method not allowed.', { Allow: 'GET, POST, DELETE' });
    if (!isJsonContentType(seen.given['content-type'] ?? null))
      return refuse(seen, 415, -32000, 'Unsupported Media Type: Content-Type must be application/json');
    const message = parse(seen.body);
    if (message === undefined)
      return acceptsBoth(seen) ? refuse(seen, 400, -32700, 'Parse error: Invalid JSON') : notAcceptable(seen);
    if (isObject(message)) {
      if (isThin(message, seen.given))
        return serveThin({
          message,
          actor: seen.actor,
          menu: seen.menu,
          given: seen.given,
          response: seen.response,
          headers: seen.headers ?? {},
          handlers,
          serverInfo,
        });
      if (isPlainLegacy(message, seen.given)) return postHot(seen, message);
    }
    const kind = classifyInboundRequest({
      httpMethod: 'POST',
      protocolVersionHeader: one(seen.given['mcp-protocol-version']),
      mcpMethodHeader: one(seen.given['mcp-method']),
      mcpNameHeader: one(seen.given['mcp-name']),
      body: message,
    }).kind;
    if (kind === 'legacy') return postLegacy(seen, (Array.isArray(message) ? message : [message]) as Incoming[]);
    return throughSdk(seen, message);
  }

  async function throughSdk(seen: Visit, message: unknown): Promise<void> {
    const gone = new AbortController();
    const ended = new AbortController();
    onceClosed(seen.response, () => {
      ended.abort();
      if (!seen.response.writableFinished) gone.abort();
    });
    const request = new Request(new URL(seen.url, 'http://localhost'), {
      method: 'POST',
      headers: Object.entries(seen.given).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      ),
      body: seen.body,
      signal: gone.signal,
    });
    const answer = await modern.serve(request, message, seen.actor, seen.menu, ended.signal);
    if (seen.response.destroyed) return;
    seen.response.writeHead(answer.status, { ...seen.headers, ...Object.fromEntries(answer.headers) });
    if (!answer.body) return void seen.response.end();
    seen.response.flushHeaders();
    if (isObject(message) && message['method'] === 'subscriptions/listen') watchWelcome(seen);
    await pipeline(Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0]), seen.response).catch(
      () => {},
    );
  }

  /** The most frequent of all: one request of the 2025 era with nothing odd about it. */
  function postHot(seen: Visit, { id, method, params = {} }: HotRequest): undefined {
    const { given, actor, menu, response, headers } = seen;
    if (!acceptsBoth(seen)) return notAcceptable(seen);
    const sessionId = one(given['mcp-session-id']);
    const known = sessionId === undefined ? undefined : sessions.find(sessionId, actor, menu);
    if (sessionId !== undefined && !known) return refuse(seen, 404, -32001, 'Session not found');
    if (known?.isUsed(id)) return refuse(seen, 400, -32600, idInUse);
    const session = known ?? sessions.passing(actor, menu);
    if (!known) response.once('close', () => void session.close());
    const head = headers ? streamHead(headers, session.sessionId) : session.head;
    session.takeHot(id, method, params, new Outlet(response, head));
  }

  async function postLegacy(seen: Visit, messages: Incoming[]): Promise<void> {
    if (!acceptsBoth(seen)) return notAcceptable(seen);
    if (messages.length > mostInBatch)
      return refuse(seen, 400, -32600, `Invalid Request: Batch must not exceed ${mostInBatch} messages`);
    const isOpening = messages.some((each) => each.method === 'initialize' && isInitializeRequest(each));
    const sessionId = one(seen.given['mcp-session-id']);
    const known = sessionId === undefined ? undefined : sessions.find(sessionId, seen.actor, seen.menu);
    if (isOpening && known) return refuse(seen, 400, -32600, 'Invalid Request: Server already initialized');
    if (isOpening && messages.length > 1)
      return refuse(seen, 400, -32600, 'Invalid Request: Only one initialization request is allowed');
    if (!isOpening) {
      if (sessionId !== undefined && !known) return refuse(seen, 404, -32001, 'Session not found');
      const odd = versionProblem(seen);
      if (odd) return refuse(seen, 400, -32000, odd);
    }
    if (messages.some((each) => isRequest(each) && known?.isUsed(each.id))) return refuse(seen, 400, -32600, idInUse);
    const isSimple = !isOpening && messages.every((each) => isRequest(each) && isHot(each));
    const session =
      known ??
      (isSimple ? sessions.passing(seen.actor, seen.menu) : await sessions.open(seen.actor, seen.menu, isOpening));
    if (!messages.some(isRequest)) {
      session.take(messages, undefined);
      seen.response.writeHead(202, seen.headers);
      return void seen.response.end();
    }
    const outlet = new Outlet(seen.response, streamHead(seen.headers ?? {}, session.sessionId));
    if (session.sessionId === undefined) seen.response.once('close', () => void (session.server ?? session).close());
    session.take(messages, outlet);
  }

  async function openStream(seen: Visit): Promise<void> {
    const sessionId = one(seen.given['mcp-session-id']);
    if (sessionId === undefined) return refuse(seen, 405, -32000, 'Method not allowed.', { Allow: 'POST' });
    if (!seen.given.accept?.includes('text/event-stream'))
      return refuse(seen, 406, -32000, 'Not Acceptable: Client must accept text/event-stream');
    const session = sessions.find(sessionId, seen.actor, seen.menu);
    if (!session) return refuse(seen, 404, -32001, 'Session not found');
    const odd = versionProblem(seen);
    if (odd) return refuse(seen, 400, -32000, odd);
    if (session.standalone?.isOpen)
      return refuse(seen, 409, -32000, 'Conflict: Only one SSE stream is allowed per session');
    // They may have left while their menu was looked up: what is begun now would never end.
    if (seen.response.destroyed) return;
    watchWelcome(seen);
    sessions.attach(session, new Outlet(seen.response, streamHead(seen.headers ?? {}, sessionId)));
  }

  async function endSession(seen: Visit): Promise<void> {
    const sessionId = one(seen.given['mcp-session-id']);
    if (sessionId === undefined) return refuse(seen, 405, -32000, 'Method not allowed.', { Allow: 'POST' });
    const session = sessions.find(sessionId, seen.actor, seen.menu);
    if (!session) return refuse(seen, 404, -32001, 'Session not found');
    const odd = versionProblem(seen);
    if (odd) return refuse(seen, 400, -32000, odd);
    await sessions.end(session);
    seen.response.writeHead(200, seen.headers);
    seen.response.end();
  }

  return {
    visit,
    pass,
    async close() {
      clearTimeout(pending);
      stopMenu();
      await Promise.all([sessions.close(), modern.close()]);
    },
  };
}

/** A request of the 2025 era without anything that needs a closer look. */
function isPlainLegacy(message: Incoming, given: IncomingHttpHeaders): message is HotRequest {
  const { jsonrpc, id, params } = message;
  if (jsonrpc !== '2.0' || (typeof id !== 'string' && !Number.isSafeInteger(id)) || !isHot(message)) return false;
  const version = given['mcp-protocol-version'];
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(String(version))) return false;
  const meta = isObject(params) ? params['_meta'] : undefined;
  return !(isObject(meta) && versionKey in meta);
}

function parse(body: string): unknown {
  try {
    return parseRpc(body);
  } catch {
    return undefined;
  }
}

/** Also when it is closed already: nobody tells of that twice. */
function onceClosed(response: ServerResponse, run: () => void): void {
  if (response.destroyed) run();
  else response.once('close', run);
}

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

function acceptsBoth({ given }: Visit): boolean {
  return (
    given.accept !== undefined &&
    given.accept.includes('application/json') &&
    given.accept.includes('text/event-stream')
  );
}

function notAcceptable(seen: Visit): undefined {
  refuse(seen, 406, -32000, 'Not Acceptable: Client must accept both application/json and text/event-stream');
}

function refuse(seen: Visit, status: number, code: number, message: string, more: OutgoingHttpHeaders = {}): undefined {
  sendRpcError(seen.response, status, code, message, { ...seen.headers, ...more });
}

function versionProblem({ given }: Visit): string | undefined {
  const version = one(given['mcp-protocol-version']);
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version)) return undefined;
  return `Bad Request: Unsupported protocol version: ${version} (supported versions: ${SUPPORTED_PROTOCOL_VERSIONS.join(', ')})`;
}
