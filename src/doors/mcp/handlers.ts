import type { Gate } from '../../gate/index.ts';
import type { Logger } from '../../observe/index.ts';
import {
  asFailure,
  Failure,
  isObject,
  numberOf,
  textOf,
  type CallOptions,
  type ClientBehind,
  type Outcome,
} from '../../schema/index.ts';
import { headerMismatch, mirroredParams, RpcError, rpcErrorKey } from '../../sources/mcp/index.ts';
import { sendLog, sendProgress, type Exchange, type JsonObject } from './exchange.ts';
import type { Listed, Menus } from './menu.ts';
import type { Resources } from './resources.ts';
import { askOnStream, Rounds, type Ask, type Live } from './rounds.ts';
import { callResult, refusal } from './tool-shape.ts';

/** Every method we answer, the same for both eras and for every transport. Throws RpcError for what is no result. */
export interface Handlers {
  listTools(exchange: Exchange, params: JsonObject): Promise<JsonObject>;
  callTool(exchange: Exchange, params: JsonObject): Promise<JsonObject>;
  /** Everything else: resources, prompts, completion. */
  serve(exchange: Exchange, method: string, params: JsonObject): Promise<JsonObject>;
}

export interface HandlersDeps {
  gate: Gate;
  menus: Menus;
  resources: Resources;
  log: Logger;
}

export const headerMismatchCode = -32020;
const sessionTools = new Set(['session_message', 'session_spawn']);

export function handlers({ gate, menus, resources, log }: HandlersDeps): Handlers {
  const rounds = new Rounds();

  /** Client and server are both of the 2026 era: what they have to settle in rounds is none of our business. */
  function speaksDirectly(exchange: Exchange): boolean {
    if (exchange.era !== 'modern' || rounds.has(exchange)) return false;
    const isModern = menus.upstream(exchange.menu)?.isModern ?? false;
    return isModern || (exchange.retry?.requestState === undefined && !mayAsk(exchange));
  }

  const clientOf = (exchange: Exchange): ClientBehind => ({
    capabilities: exchange.clientCapabilities,
    ...(exchange.era === 'modern' && menus.upstream(exchange.menu)?.isModern && { round: roundOf(exchange) }),
  });

  function find({ menu }: Exchange, tools: Map<string, Listed>, name: string): Listed {
    const tool = tools.get(name) ?? (menu.kind === 'bundle' ? tools.get(name.replaceAll('_', '-')) : undefined);
    if (!tool) throw new RpcError(-32602, `Tool ${name.slice(0, 200)} not found`);
    return tool;
  }

  const options = (exchange: Exchange, live: Live, signal: CallOptions['signal'], ask?: Ask): CallOptions => ({
    signal,
    onProgress: (progress) => live.exchange && sendProgress(live.exchange, progress),
    onLog: (entry) => live.exchange && sendLog(live.exchange, entry),
    ...(ask && { onClientRequest: ask }),
    client: clientOf(exchange),
  });

  function shaped(exchange: Exchange, tool: Listed, outcome: Outcome): JsonObject {
    if (outcome.result?.inputRequired) return outcome.result.inputRequired;
    const refused = outcome.result?.meta?.[rpcErrorKey] as RpcError | undefined;
    if (refused && exchange.menu.kind === 'bundle') throw new RpcError(refused.code, refused.message, refused.data);
    if (outcome.ok && sessionTools.has(tool.view.name)) followSession(exchange, outcome.value);
    return callResult(outcome, tool, exchange.era);
  }

  const inRounds = (exchange: Exchange, tool: Listed, args: unknown): Promise<JsonObject> =>
    rounds.serve(exchange, async (live, stop, ask) =>
      shaped(exchange, tool, await gate.call(exchange.actor, tool.view.name, args, options(exchange, live, stop, ask))),
    );

  const callTool: Handlers['callTool'] = async (exchange, params) => {
    let tool: Listed | undefined;
    try {
      const tools = menus.known(exchange.actor, exchange.menu) ?? (await menus.tools(exchange.actor, exchange.menu));
      tool = find(exchange, tools, textOf(params['name']));
      const args = params['arguments'] ?? {};
      if (exchange.header) demandMirrored(tool, params['arguments'], exchange.header);
      const isLegacy = exchange.era === 'legacy';
      if (!isLegacy && !speaksDirectly(exchange)) return await inRounds(exchange, tool, args);
      const signal = exchange.handedOn ?? exchange.signal;
      const how = options(exchange, { exchange }, signal, isLegacy ? askOnStream(exchange) : undefined);
      return shaped(exchange, tool, await gate.call(exchange.actor, tool.view.name, args, how));
    } catch (error) {
      if (!tool || !(error instanceof Failure)) throw asRpcError('tools/call', error);
      if (error.code === 'tool.not_found') throw new RpcError(-32602, `Tool ${tool.name} not found`);
      // What the model can mend, it must read.
      return refusal(withDetails(error));
    }
  };

  const serve: Handlers['serve'] = async (exchange, method, params) => {
    const upstream = menus.upstream(exchange.menu);
    if (upstream) {
      const { principal } = exchange.actor;
      if (!offers(upstream.capabilities, method)) throw new RpcError(-32601, 'Method not found');
      if (speaksDirectly(exchange))
        return upstream.ask(method, params, {
          principal,
          signal: exchange.signal,
          onLog: (entry) => sendLog(exchange, entry),
          client: clientOf(exchange),
        });
      return rounds.serve(exchange, async (live, signal, ask) => {
        const onLog: CallOptions['onLog'] = (entry) => live.exchange && sendLog(live.exchange, entry);
        const onClientRequest = (wanted: string, details: unknown): Promise<unknown> => ask(wanted, details, signal);
        const how = { principal, signal, onLog, onClientRequest, client: clientOf(exchange) };
        const answer = await upstream.ask(method, params, how);
        return exchange.era === 'legacy' ? withoutNewer(answer) : answer;
      });
    }
    return resources.serve(exchange, method, params);
  };

  /** What is neither a refusal nor a named failure stays in the log. */
  function asRpcError(method: string, error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    const { code, rpc, message } = asFailure(error);
    if (code !== 'server.internal') return new RpcError(rpc, message);
    log.error({ span: 'mcp.request', err: error, method }, 'an MCP request broke');
    return new RpcError(-32603, 'Internal error');
  }

  const guarded = async (method: string, work: () => Promise<JsonObject>): Promise<JsonObject> => {
    try {
      return await work();
    } catch (error) {
      throw asRpcError(method, error);
    }
  };

  return {
    listTools: (exchange, params) =>
      guarded('tools/list', () => menus.page(exchange.actor, exchange.menu, exchange.era, params['cursor'])),
    callTool,
    serve: (exchange, method, params) => guarded(method, () => serve(exchange, method, params)),
  };
}

const mayAsk = ({ clientCapabilities: can }: Exchange): boolean =>
  can['elicitation'] !== undefined || can['sampling'] !== undefined || can['roots'] !== undefined;

/** An answer of a 2026 server without what the 2025 era does not know. */
function withoutNewer(answer: JsonObject): JsonObject {
  const older = without(answer, ['ttlMs', 'cacheScope', '_meta']);
  const meta = without((answer['_meta'] ?? {}) as JsonObject, ['io.modelcontextprotocol/serverInfo']);
  return Object.keys(meta).length > 0 ? { ...older, _meta: meta } : older;
}

const without = (value: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)));

/** What a client mirrors in headers must be what it sends. */
function demandMirrored(tool: Listed, args: unknown, header: (name: string) => string | undefined): void {
  const mirrored = mirroredParams(tool.view.argSchema);
  const mismatch = mirrored.length > 0 ? headerMismatch(mirrored, args, header) : undefined;
  if (mismatch)
    throw new RpcError(headerMismatchCode, `Bad Request: the request headers and body disagree: ${mismatch.body}`, {
      mismatch,
    });
}

function roundOf({ retry }: Exchange): NonNullable<ClientBehind['round']> {
  const { requestState, inputResponses } = retry ?? {};
  return { ...(typeof requestState === 'string' && { requestState }), ...(inputResponses && { inputResponses }) };
}

function followSession(exchange: Exchange, value: unknown): void {
  if (!isObject(value) || typeof value['session_id'] !== 'string') return;
  exchange.onSession?.(value['session_id'], numberOf(value['last_event_index'] ?? -1));
}

function offers(capabilities: Record<string, unknown>, method: string): boolean {
  if (method.startsWith('prompts/')) return capabilities['prompts'] !== undefined;
  if (method.startsWith('resources/')) return capabilities['resources'] !== undefined;
  return method === 'completion/complete' && capabilities['completions'] !== undefined;
}

function withDetails(failure: Failure): string {
  const details = failure.details
    .filter(({ path, message }) => !failure.message.includes(`${path} ${message}`))
    .map(({ path, message }) => `${path}: ${message}`)
    .filter((line) => !failure.message.includes(line));
  return details.length > 0 ? `${failure.message}\n${details.join('\n')}` : failure.message;
}
