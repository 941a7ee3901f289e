import type { Socket } from 'node:net';
import {
  asFailure,
  isLastingId,
  isObject,
  isTooDeep,
  LineReader,
  parseRpc,
  relayLineBytes,
  type RpcError,
  type RpcId,
} from '../../schema/index.ts';
import type { OpenCalls, RpcAnswer } from './open-calls.ts';

/** Runs one request; throws what went wrong. `key` names the call beyond this connection. */
export type RunMethod = (
  method: string,
  params: Record<string, unknown>,
  call: { signal: AbortSignal; key: string | undefined; isAgain: boolean },
) => Promise<unknown>;

export interface Connection {
  notify(method: string, params: unknown): void;
  /** Answers what is still open with this failure, and lets no later answer through. */
  failOpen(failure: RpcFailure): void;
  close(): void;
}

const maxUnsentBytes = 64 * 1024 * 1024;
const maxInFlight = 512;

/** An error of the wire itself, with its JSON-RPC code. */
export class RpcFailure extends Error {
  readonly rpc: RpcError;
  constructor(code: number, message: string, name = 'request.invalid') {
    super(message);
    this.rpc = { code, message, data: { code: name } };
  }
}

/** One client's JSON-RPC lines: many requests in flight, answered in any order; garbage never ends a connection. */
export function serveConnection(socket: Socket, calls: OpenCalls, run: RunMethod): Connection {
  const inFlight = new Map<string | number, AbortController | undefined>();

  const send = (message: object): void => {
    if (socket.destroyed) return;
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    // A client that never reads its answers is cut off before they fill our memory.
    if (socket.writableLength > maxUnsentBytes) socket.destroy();
  };
  const refuse = (id: RpcId, code: number, message: string): void =>
    send({ id, error: { code, message, data: { code: 'request.invalid' } } });

  const take = (line: string): void => {
    let message: unknown;
    try {
      message = parseRpc(line);
    } catch {
      return refuse(null, -32700, 'this line is no JSON');
    }
    if (!isObject(message) || typeof message['method'] !== 'string')
      return refuse(idOf(message) ?? null, -32600, 'a request is an object with a method');
    if (message['method'] === 'cancel') return cancel(message['params']);
    const id = idOf(message);
    if (id === undefined && message['id'] !== undefined)
      return refuse(null, -32600, 'an id is a string or a number, but no integer beyond 2^53');
    if (id !== undefined && id !== null && inFlight.has(id))
      return refuse(id, -32600, 'a request with this id is still open');
    if (inFlight.size >= maxInFlight) return refuse(id ?? null, -32000, `more than ${maxInFlight} requests are open`);
    const params = message['params'] ?? {};
    if (!isObject(params) || isTooDeep(params))
      return refuse(id ?? null, -32602, 'params must be an object that is not nested too deeply');
    void answer(id ?? null, message['method'], params, message['again'] === true);
  };

  const answer = async (
    id: RpcId,
    method: string,
    params: Record<string, unknown>,
    isAgain: boolean,
  ): Promise<void> => {
    const key = isLastingId(id) ? id : undefined;
    const stop = new AbortController();
    if (id !== null) inFlight.set(id, key === undefined ? stop : undefined);
    const start = (signal: AbortSignal): Promise<RpcAnswer> => settle(run(method, params, { signal, key, isAgain }));
    const settled = await (key === undefined ? start(stop.signal) : calls.join(key, start));
    if (id !== null && !inFlight.delete(id)) return;
    send({ id, ...settled });
  };

  const failOpen = ({ rpc }: RpcFailure): void => {
    const open = [...inFlight];
    inFlight.clear();
    for (const [id, stop] of open) {
      send({ id, error: rpc });
      stop?.abort();
    }
  };

  const cancel = (params: unknown): void => {
    const id = isObject(params) ? params['id'] : undefined;
    if (typeof id !== 'string' && typeof id !== 'number') return;
    if (isLastingId(id)) calls.cancel(id);
    else inFlight.get(id)?.abort();
  };

  const lines = new LineReader(relayLineBytes, take, () =>
    refuse(null, -32700, `a line may have ${relayLineBytes} bytes at most`),
  );
  socket.on('data', (chunk: Buffer) => lines.push(chunk));
  socket.on('error', () => {});
  socket.on('close', () => {
    // Calls under a lasting id go on: their client may come back for the answer.
    for (const stop of inFlight.values()) stop?.abort();
  });
  return { notify: (method, params) => send({ method, params }), failOpen, close: () => socket.end() };
}

async function settle(work: Promise<unknown>): Promise<RpcAnswer> {
  try {
    return { result: (await work) ?? null };
  } catch (error) {
    return { error: rpcError(error) };
  }
}

function rpcError(error: unknown): RpcError {
  if (error instanceof RpcFailure) return error.rpc;
  const { rpc, message, code } = asFailure(error);
  return {
    code: rpc,
    message: code === 'server.internal' ? 'Something went wrong inside the server.' : message,
    data: { code },
  };
}

/** Undefined when there is none, or when it is of a type that no id may have. */
function idOf(message: unknown): RpcId | undefined {
  const id = isObject(message) ? message['id'] : undefined;
  if (typeof id === 'string') return id.length <= 256 ? id : undefined;
  return typeof id === 'number' || id === null ? id : undefined;
}
