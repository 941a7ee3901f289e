import { sentences } from './error-texts.ts';

/** How a failure travels: its HTTP status, its JSON-RPC code on the socket, and whether trying again may help. */
interface Entry {
  http: number;
  rpc: number;
  retryable: boolean;
}

const request = (http: number, rpc = -32602): Entry => ({ http, rpc, retryable: false });
const busy = (http: number): Entry => ({ http, rpc: -32000, retryable: true });
const dispatched = (retryable: boolean, rpc = -32000): Entry => ({ http: 200, rpc, retryable });

/**
 * Every failure that leaves the program, by name. A test compares it with docs/errors.md.
 * `http: 200` marks what happens after dispatch: the answer is `{ok:false,error}`.
 */
export const catalogue = {
  'request.invalid': request(400),
  'args.invalid': request(400),
  'page_token.invalid': request(400),
  'function.unknown': request(400),
  'type.unsupported': request(400),
  'host.not_allowed': request(400),
  'config.invalid': request(400),
  'import.invalid': request(400),
  'auth.required': request(401, -32001),
  'auth.invalid': request(401, -32001),
  'scope.denied': request(403, -32002),
  'builtin.read_only': request(403),
  'bundle.managed': request(403),
  'origin.refused': request(403),
  'remote_config.refused': request(403),
  'file.refused': request(403),
  'route.not_found': request(404, -32601),
  'bundle.not_found': request(404),
  'tool.not_found': request(404, -32602),
  'project.not_found': request(404),
  'workspace.not_found': request(404),
  'session.not_found': request(404),
  'ask.not_found': request(404),
  'token.not_found': request(404),
  'secret.not_found': request(404),
  'server.not_found': request(404),
  'blob.not_found': request(404),
  'file.not_found': request(404),
  'result.not_found': request(404),
  'method.not_allowed': request(405),
  'request.timeout': busy(408),
  'bundle.exists': request(409),
  'name.taken': request(409),
  'tool.exists': request(409),
  'bundle.not_empty': request(409),
  'bundle.disabled': request(409),
  'tool.disabled': request(409),
  'tool.corrupt': request(409),
  'project.exists': request(409),
  'project.busy': request(409),
  'workspace.busy': request(409),
  'workspace.default': request(409),
  'ask.closed': request(409),
  'session.busy': busy(409),
  'session.state': request(409),
  'sandbox.unavailable': busy(409),
  'agent.unavailable': request(409),
  'body.too_large': request(413),
  'media_type.unsupported': request(415),
  'headers.too_large': request(431),
  'rate.limited': busy(429),
  'limit.sessions': busy(429),
  'limit.depth': request(429),
  'limit.agents': request(429),
  'limit.cost': request(429),
  'limit.storage': request(429),
  'server.internal': { http: 500, rpc: -32603, retryable: true },
  'home.unusable': { http: 500, rpc: -32603, retryable: false },
  'server.running': busy(409),
  'server.stopping': busy(503),
  'server.busy': busy(503),
  'home.locked': busy(503),
  not_supported: request(501),
  'tool.failed': dispatched(false),
  'program.failed': dispatched(false),
  'tool.timeout': dispatched(true),
  'tool.cancelled': dispatched(true),
  'call.interrupted': dispatched(false),
  'source.unreachable': dispatched(true),
  'source.busy': dispatched(true),
  'secret.missing': dispatched(false),
  'output.invalid': dispatched(false),
  'response.too_large': dispatched(false),
  'sandbox.failed': dispatched(true),
  'agent.failed': dispatched(true),
  'caller.timeout': dispatched(true, -32003),
  'caller.disconnected': dispatched(true, -32004),
  'caller.failed': dispatched(false),
} satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof catalogue;
export type Detail = { path: string; message: string };
export type Params = Record<string, string | number | boolean | undefined>;

/** A named failure. `message` is what everyone reads; `cause` is for the log alone. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: ErrorCode;
  readonly details: Detail[];
  readonly retryable: boolean;
  constructor(code: ErrorCode, message: string, options: { details?: Detail[]; cause?: unknown; retryable?: boolean }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
    this.retryable = options.retryable ?? catalogue[code].retryable;
  }
  get http(): number {
    return catalogue[this.code].http;
  }
  get rpc(): number {
    return catalogue[this.code].rpc;
  }
}

/**
 * Makes a named failure: `throw fail('tool.not_found', { ref })`. The sentence comes from the catalogue;
 * `message` in params replaces it where a rule has something more exact to say.
 */
export function fail(
  code: ErrorCode,
  params: Params = {},
  options: { details?: Detail[]; cause?: unknown; retryable?: boolean } = {},
): Failure {
  const message = params['message'] === undefined ? fillIn(sentences[code], params) : String(params['message']);
  // A text that was cut may end in half a surrogate pair, which no JSON reader should have to accept.
  const details = options.details?.map((each) => ({
    path: each.path.toWellFormed(),
    message: each.message.toWellFormed(),
  }));
  return new Failure(code, message.toWellFormed(), { ...options, ...(details && { details }) });
}

/** True for codes that say what happened after dispatch. */
export function isDispatchCode(code: ErrorCode): boolean {
  return catalogue[code].http === 200;
}

/**
 * Turns anything thrown into a Failure. A full disk has a name, and so has a file that another process holds for too long;
 * what else is not one of ours becomes `server.internal`.
 * The cause is kept.
 */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isDiskFull(error)) return fail('limit.storage', { reason: noRoom }, { cause: error });
  if (isLocked(error)) return fail('home.locked', {}, { cause: error });
  return fail('server.internal', {}, { cause: error });
}

const noRoom = "the disk that holds the server's home is full. Make room, then try again.";
const sqliteFull = 13;

/** True for what the system, or SQLite, throws when there is no room left. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode = 0 } = (error ?? {}) as { code?: unknown; errcode?: number };
  return code === 'ENOSPC' || code === 'EDQUOT' || (errcode & 0xff) === sqliteFull;
}

const sqliteLocked = new Set([5, 6]);

const isLocked = (error: unknown): boolean =>
  sqliteLocked.has(((error as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff);

function fillIn(sentence: string, params: Params): string {
  return sentence.replace(/\{(\w+)\}/g, (_, key: string) => String(params[key] ?? ''));
}
