import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { isObject, textOf, type Actor } from '../../schema/index.ts';
import type { ClientCapabilities, Exchange, JsonObject, RequestId } from './exchange.ts';
import { headerMismatchCode, type Handlers } from './handlers.ts';
import { isHot, rpcError, type Incoming } from './legacy-session.ts';
import type { Menu } from './menu.ts';
import { Outlet, sendJson, streamHead } from './outlet.ts';

const prefix = 'io.modelcontextprotocol/';
export const versionKey = `${prefix}protocolVersion`;
const revision = '2026-07-28';
/** With a mismatch of headers, the only error of a handler that has an HTTP status of its own. */
const missingCapability = -32021;
const logLevels = new Set(['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']);

/**
 * True for a 2026 request that we answer without the SDK: frequent, and in order in every respect. Anything odd
 * (headers that disagree, an envelope that lacks something) is left to the SDK, which says what is wrong.
 */
export function isThin(message: Incoming, headers: IncomingHttpHeaders): boolean {
  const { params, method, id } = message;
  if (message.jsonrpc !== '2.0' || !isId(id) || (method !== 'tools/call' && method !== 'tools/list') || !isHot(message))
    return false;
  const meta = params?.['_meta'];
  if (!isObject(meta) || meta[versionKey] !== revision || headers['mcp-protocol-version'] !== revision) return false;
  if (headers['mcp-method'] !== method) return false;
  if (method === 'tools/call' && (headers['mcp-name'] !== params?.['name'] || !isPlainName(params?.['name'])))
    return false;
  return isEnvelope(meta) && isRetry(params ?? {});
}

export interface ThinRequest {
  message: Incoming;
  actor: Actor;
  menu: Menu;
  given: IncomingHttpHeaders;
  response: ServerResponse;
  headers: OutgoingHttpHeaders;
  handlers: Handlers;
  serverInfo: JsonObject;
}

/** One JSON body, or an event stream as soon as there is something to say before the answer. */
export async function serveThin({
  message,
  actor,
  menu,
  given,
  response,
  headers,
  handlers,
  serverInfo,
}: ThinRequest): Promise<void> {
  const id = message.id as RequestId;
  const params = message.params ?? {};
  const meta = params['_meta'] as JsonObject;
  const control = new AbortController();
  let outlet: Outlet | undefined;
  response.once('close', () => response.writableEnded || control.abort());
  const logLevel = meta[`${prefix}logLevel`];
  const exchange: Exchange = {
    actor,
    menu,
    era: 'modern',
    signal: control.signal,
    clientCapabilities: meta[`${prefix}clientCapabilities`] as ClientCapabilities,
    ...(meta['progressToken'] !== undefined && { progressToken: meta['progressToken'] as RequestId }),
    ...(typeof logLevel === 'string' && { logLevel }),
    notify: (method, about) =>
      (outlet ??= new Outlet(response, streamHead(headers))).write({ method, params: about, jsonrpc: '2.0' }),
    header: (name) => given[name] as string | undefined,
    retry: { requestState: params['requestState'], inputResponses: params['inputResponses'] as JsonObject | undefined },
  };
  let answer: object;
  let status = 200;
  try {
    const result =
      message.method === 'tools/call'
        ? await handlers.callTool(exchange, params)
        : await handlers.listTools(exchange, params);
    answer = { result: complete(result, message.method === 'tools/list', serverInfo), jsonrpc: '2.0', id };
  } catch (error) {
    const refused = rpcError(error);
    if (refused.code === missingCapability || refused.code === headerMismatchCode) status = 400;
    answer = { jsonrpc: '2.0', id, error: refused };
  }
  if (outlet) outlet.end(answer);
  else if (!response.destroyed) sendJson(response, status, answer, headers);
}

/** What the 2026 era wants on every result. */
function complete(result: JsonObject, isCacheable: boolean, serverInfo: JsonObject): JsonObject {
  const { _meta, ...rest } = result;
  const meta = { ...(_meta as JsonObject | undefined), [`${prefix}serverInfo`]: serverInfo };
  const whole: JsonObject = _meta === undefined ? rest : { _meta: meta, ...rest };
  whole['resultType'] ??= 'complete';
  if (isCacheable) Object.assign(whole, { ttlMs: 0, cacheScope: 'private' });
  if (_meta === undefined) whole['_meta'] = meta;
  return whole;
}

const isId = (id: unknown): boolean => typeof id === 'string' || Number.isSafeInteger(id);
const isPlainName = (name: unknown): boolean =>
  typeof name === 'string' && /^[\x21-\x7e]+$/.test(name) && !name.startsWith('=?');

function isEnvelope(meta: JsonObject): boolean {
  const can = meta[`${prefix}clientCapabilities`];
  const who = meta[`${prefix}clientInfo`];
  const level = meta[`${prefix}logLevel`];
  if (!isObject(can) || !Object.values(can).every(isObject)) return false;
  if (who !== undefined && !(isObject(who) && typeof who['name'] === 'string' && typeof who['version'] === 'string'))
    return false;
  return level === undefined || logLevels.has(textOf(level));
}

function isRetry(params: JsonObject): boolean {
  const { requestState, inputResponses } = params;
  if (requestState !== undefined && typeof requestState !== 'string') return false;
  return inputResponses === undefined || (isObject(inputResponses) && Object.values(inputResponses).every(isObject));
}
