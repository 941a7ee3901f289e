import { Agent, request, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fail, isObject, type Failure } from '../../schema/index.ts';

const oldestVersion = [1, 40];
const newestVersion = [1, 47];
const defaultTimeoutMs = 60_000;
const maxAnswerBytes = 32 * 1024 * 1024;

export interface EngineRequest {
  method?: 'GET' | 'POST' | 'DELETE';
  query?: Record<string, string>;
  body?: object;
  /** A tar stream. */
  tar?: Readable;
  /** Status codes beside 2xx that are no failure. */
  allow?: number[];
  /** null: wait for ever. */
  timeoutMs?: number | null;
  signal?: AbortSignal;
}

export interface EngineAnswer {
  status: number;
  bytes: Buffer;
  json(): unknown;
}

/** A Docker-compatible engine on a unix socket, spoken to in the newest version that both sides know. */
export interface EngineClient {
  readonly socket: string;
  /** Fails with sandbox.unavailable when nobody answers, sandbox.failed when the engine refuses. */
  ask(path: string, options?: EngineRequest): Promise<EngineAnswer>;
  /** Asks again which versions the engine speaks: it may have been replaced. */
  version(): Promise<{ api: string; engine: string; name: 'docker' | 'podman' }>;
  close(): void;
}

export function engineClient(socket: string): EngineClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  let api: Promise<string> | undefined;

  const version: EngineClient['version'] = async () => {
    const answer = (await send(socket, agent, '/version', { timeoutMs: 10_000 })).json();
    if (!isObject(answer) || typeof answer['ApiVersion'] !== 'string')
      throw fail('sandbox.unavailable', { reason: `${socket} is no container engine` });
    const chosen = chooseVersion(answer['ApiVersion'], String(answer['MinAPIVersion'] ?? answer['ApiVersion']));
    if (!chosen)
      throw fail('sandbox.unavailable', {
        reason: `the engine at ${socket} speaks API ${answer['ApiVersion']}; ${oldestVersion.join('.')} or newer is needed`,
      });
    api = Promise.resolve(chosen);
    const isPodman = JSON.stringify(answer['Components'] ?? '').includes('Podman');
    return { api: chosen, engine: String(answer['Version']), name: isPodman ? 'podman' : 'docker' };
  };

  return {
    socket,
    version,
    async ask(path, options = {}) {
      api ??= version().then((found) => found.api);
      const prefix = await api.catch((error: unknown) => {
        api = undefined;
        throw error;
      });
      const answer = await send(socket, agent, `/v${prefix}${path}`, options);
      if (answer.status >= 200 && answer.status < 300) return answer;
      if (options.allow?.includes(answer.status)) return answer;
      if (answer.status === 400 && /version/i.test(answer.bytes.toString())) api = undefined;
      throw refusal(answer);
    },
    close: () => agent.destroy(),
  };
}

/** The newest version between what the engine offers and what we know; undefined when the engine is too old. */
export function chooseVersion(newest: string, oldest: string): string | undefined {
  if (compare(parse(newest), oldestVersion) < 0) return undefined;
  if (compare(parse(oldest), newestVersion) > 0) return oldest;
  return compare(parse(newest), newestVersion) > 0 ? newestVersion.join('.') : newest;
}

const parse = (version: string): number[] => version.split('.').map(Number);
const compare = (a: number[], b: number[]): number => (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0);

function refusal(answer: EngineAnswer): Failure {
  let reason = answer.bytes.toString('utf8').slice(0, 2000);
  try {
    const { message } = JSON.parse(reason) as { message?: string };
    if (message) reason = message;
  } catch {
    // Some engines answer in plain text.
  }
  const isRetryable = answer.status >= 500;
  return fail(
    'sandbox.failed',
    { reason: `the engine answered ${answer.status}: ${reason.trim()}` },
    { retryable: isRetryable },
  );
}

async function send(socketPath: string, agent: Agent, path: string, options: EngineRequest): Promise<EngineAnswer> {
  const { method = 'GET', query, body, tar, timeoutMs = defaultTimeoutMs } = options;
  const url = query ? `${path}?${new URLSearchParams(query)}` : path;
  const limits = [
    ...(options.signal ? [options.signal] : []),
    ...(timeoutMs === null ? [] : [AbortSignal.timeout(timeoutMs)]),
  ];
  const signal = limits.length > 0 ? AbortSignal.any(limits) : undefined;
  const payload = body === undefined ? undefined : JSON.stringify(body);
  try {
    const outgoing = request({
      socketPath,
      agent,
      method,
      path: url,
      // Required by HTTP, read by no engine.
      headers: {
        host: 'engine',
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
        ...(tar ? { 'content-type': 'application/x-tar' } : {}),
      },
      ...(signal ? { signal } : {}),
    });
    const incoming = Promise.withResolvers<IncomingMessage>();
    outgoing.on('response', incoming.resolve);
    outgoing.on('error', incoming.reject);
    if (tar) pipeline(tar, outgoing).catch(incoming.reject);
    else outgoing.end(payload);
    const response = await incoming.promise;
    const bytes = await collect(response);
    return { status: response.statusCode ?? 0, bytes, json: () => JSON.parse(bytes.toString('utf8')) };
  } catch (error) {
    if (options.signal?.aborted) throw fail('tool.cancelled', { tool: `${method} ${path}` }, { cause: error });
    const isLate = signal?.aborted === true;
    const reason = isLate
      ? `the engine at ${socketPath} did not answer within ${timeoutMs} ms`
      : `no engine answers at ${socketPath}: ${(error as Error).message}`;
    throw fail('sandbox.unavailable', { reason }, { cause: error });
  }
}

async function collect(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    // A build may print without end; only its last lines matter.
    parts.push(chunk);
    while (size > maxAnswerBytes) size -= parts.shift()!.length;
  }
  return Buffer.concat(parts, size);
}
