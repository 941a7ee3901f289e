import type { Gate } from '../../gate/index.ts';
import {
  catalogue,
  fail,
  Failure,
  jsonText,
  reaches,
  type Actor,
  type ErrorCode,
  type Outcome,
  type Source,
  type ToolView,
} from '../../schema/index.ts';
import { RpcFailure, type RunMethod } from './connection.ts';
import { isOffered } from './own-tools.ts';

/** Who speaks through a socket: a session without a key, with what its project grants. */
export interface RelaySession {
  actor: Actor & { sessionId: string; projectId: string };
  workspaceId: string;
}

export interface MethodDeps {
  gate: Gate;
  authenticate: (secret: string) => Promise<Actor>;
  /** Throws session.not_found when the session is over. */
  session: () => Promise<RelaySession>;
  /** The caller's tool as the gate takes it; undefined when it is not declared. */
  callerTool: (
    sessionId: string,
    tool: string,
    key: string | undefined,
  ) => Promise<{ tool: ToolView; source: Source } | undefined>;
}

/** Every method of the socket. Who asks is the socket it came through, whatever the payload says. */
export function relayMethods({ gate, authenticate, session, callerTool }: MethodDeps): RunMethod {
  const actorOf = async (params: Record<string, unknown>, here: RelaySession): Promise<Actor> => {
    const key = params['api_key'];
    if (key === undefined) throw new RpcFailure(-32602, 'api_key is missing');
    const actor = typeof key === 'string' ? await authenticate(key).catch(notValid) : notValid();
    // A key that was granted to another session is worth nothing here.
    const { sessionId, projectId } = here.actor;
    if (actor.sessionId !== undefined && actor.sessionId !== sessionId) return notValid();
    return { ...actor, sessionId, projectId, isGranted: true };
  };

  const ownTools = async (actor: Actor): Promise<ToolView[]> =>
    (await gate.list(actor)).filter((tool) => gate.isOwn(tool) && isOffered(actor, tool));

  const callOwn = async (params: Record<string, unknown>, here: RelaySession, options: CallTexts): Promise<object> => {
    const name = params['tool'];
    if (params['api_key'] === undefined || typeof name !== 'string')
      throw new RpcFailure(-32602, params['api_key'] === undefined ? 'api_key is missing' : 'tool is missing');
    const actor = await actorOf(params, here);
    const tool = (await ownTools(actor)).find((each) => each.name === name);
    if (!tool) {
      await recordRefusal(actor, name, params['arguments'] ?? {});
      throw notAllowed(actor, name);
    }
    if (options.isAgain && tool.level !== 'read') throw fail('call.interrupted', { tool: name });
    return asContent(() => gate.call(actor, name, params['arguments'] ?? {}, { signal: options.signal }));
  };

  /** Lets the gate refuse what is above the key's level, so that the audit records who asked for it. */
  const recordRefusal = async (actor: Actor, name: string, args: unknown): Promise<void> => {
    const known = await gate.resolve(actor, name).catch(() => undefined);
    if (known && gate.isOwn(known) && !reaches(actor.level, known.level))
      await gate.call(actor, name, args).catch(() => {});
  };

  const callCaller = async (
    params: Record<string, unknown>,
    here: RelaySession,
    options: CallTexts,
  ): Promise<unknown> => {
    const name = params['tool'];
    if (typeof name !== 'string') throw new RpcFailure(-32602, 'tool is missing');
    const declared = await callerTool(here.actor.sessionId, name, options.key);
    if (!declared)
      throw new RpcFailure(
        -32602,
        `${name.slice(0, 100)} is not declared by the caller of this session`,
        'tool.not_found',
      );
    const outcome = await gate.callDeclared(here.actor, declared.tool, declared.source, params['arguments'] ?? {}, {
      signal: options.signal,
    });
    return valueOf(outcome);
  };

  /** Reaches child sessions through the ordinary tools, as an actor that reaches nothing else. */
  const callChildren = async (
    name: string,
    args: Record<string, unknown>,
    here: RelaySession,
    signal: AbortSignal,
  ): Promise<unknown> =>
    valueOf(await gate.call({ ...here.actor, level: 'write', bundles: ['session'] }, name, args, { signal }));

  return async (method, params, options) => {
    const here = await session();
    switch (method) {
      case 'oubliette_tools': {
        const tools = await ownTools(await actorOf(params, here));
        return {
          tools: tools.map(({ name, description, argSchema }) => ({
            name,
            description: description ?? '',
            inputSchema: argSchema,
          })),
        };
      }
      case 'oubliette_call_tool':
        return callOwn(params, here, options);
      case 'caller_tool':
        return callCaller(params, here, options);
      case 'session_message':
        if (params['message'] === undefined) throw new RpcFailure(-32602, 'message is missing');
        return callChildren(
          params['session_id'] === undefined ? 'session_spawn' : 'session_message',
          {
            ...pick(params, ['message', 'session_id', 'agent', 'model']),
            ...(params['session_id'] === undefined && {
              project_id: here.actor.projectId,
              workspace_id: here.workspaceId,
            }),
            ...(options.key !== undefined && { idempotency_key: options.key }),
          },
          here,
          options.signal,
        );
      case 'session_events':
        if (params['session_id'] === undefined) throw new RpcFailure(-32602, 'session_id is missing');
        return callChildren(method, pick(params, ['session_id', 'since_index', 'max_events']), here, options.signal);
      case 'run': {
        const code = params['code'] ?? params['command'];
        if (typeof code !== 'string') throw new RpcFailure(-32602, 'code is missing');
        if (options.isAgain) throw fail('call.interrupted', { tool: 'run' });
        return asContent(() => gate.call(here.actor, 'run', { code }, { signal: options.signal }));
      }
      default:
        throw new RpcFailure(-32601, `there is no method ${method.slice(0, 100)}`, 'route.not_found');
    }
  };
}

interface CallTexts {
  signal: AbortSignal;
  key: string | undefined;
  isAgain: boolean;
}

function notValid(): never {
  throw new RpcFailure(-32001, 'invalid or expired API key', 'auth.invalid');
}

/** Unknown and forbidden look alike to everyone but an admin. */
function notAllowed(actor: Actor, tool: string): RpcFailure {
  return reaches(actor.level, 'admin')
    ? new RpcFailure(-32602, `there is no tool ${tool.slice(0, 100)}`, 'tool.not_found')
    : new RpcFailure(-32002, 'tool not allowed for this token scope', 'scope.denied');
}

/** A tool that ran and failed, or refused its arguments, is a result: the model must read it. */
async function asContent(call: () => Promise<Outcome>): Promise<object> {
  try {
    const outcome = await call();
    return outcome.ok ? content(jsonText(outcome.value), false) : content(outcome.error.message, true);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return content(error.message, true);
  }
}

const content = (text: string, isError: boolean): object => ({ content: [{ type: 'text', text }], isError });

function valueOf(outcome: Outcome): unknown {
  if (outcome.ok) return outcome.value;
  const code = outcome.error.code as ErrorCode;
  throw new RpcFailure(catalogue[code].rpc, outcome.error.message, code);
}

function pick(params: Record<string, unknown>, names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter((name) => params[name] !== undefined).map((name) => [name, params[name]]));
}
