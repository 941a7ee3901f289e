import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Logger } from '../../observe/index.ts';
import { asFailure, isObject, type ProviderConfig } from '../../schema/index.ts';
import type { BoxDoor, DoorIdentity, Reservation, Sessions } from '../../sessions/index.ts';
import type { Dialler } from '../../sources/http/index.ts';
import { listenIn } from './listen.ts';
import { shapes, targetUrl, type ErrorKind, type ProviderShape } from './shapes.ts';
import { UsageReader } from './usage-reader.ts';

const maxBodyBytes = 32 * 1024 * 1024;
const defaultMaxOutput = 4096;
/** A token has about four characters; the estimate before the answer must not be too low. */
const bytesPerToken = 3;
const passedHeaders = ['content-type', 'accept', 'anthropic-version', 'anthropic-beta', 'openai-beta', 'user-agent'];

export interface ModelDoorOptions {
  sessions: Pick<Sessions, 'providerOf' | 'reserve' | 'touch'>;
  secret: (name: string) => Promise<string>;
  dialler: Pick<Dialler, 'fetch'>;
  /** The whole of a body; fails with body.too_large, server.busy or request.timeout. */
  readBody: (request: IncomingMessage, limit: number) => Promise<Buffer>;
  log: Logger;
  /** How long a provider may be silent. */
  silenceMs?: number;
}

/** `/mcp/model.sock`: the configured provider as the sandbox sees it. The key is added here; money is counted here. */
export function modelDoor(options: ModelDoorOptions): BoxDoor {
  return {
    async open(identity) {
      const server = createServer((request, response) => {
        answer(options, identity, request, response).catch((error: unknown) => {
          options.log.warn({ span: 'model', err: error, session: identity.sessionId() }, 'the model door failed');
          response.destroy();
        });
      });
      return listenIn(server, join(identity.folder, 'model.sock'));
    },
  };
}

async function answer(
  options: ModelDoorOptions,
  identity: DoorIdentity,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const sessionId = identity.sessionId();
  const provider = sessionId === undefined ? undefined : await options.sessions.providerOf(sessionId);
  const shape = shapes[provider?.shape ?? 'openai'];
  const refuse = (status: number, kind: ErrorKind, message: string): void =>
    send(response, shape.error(status, kind, message));
  if (sessionId === undefined || !provider)
    return refuse(
      403,
      'refused',
      'No model provider is configured for this session. Add one under providers in config.yaml.',
    );
  options.sessions.touch(sessionId);
  const url = new URL(request.url ?? '/', 'http://model');
  const method = request.method ?? 'GET';
  if (!shape.allows(method, url.pathname))
    return refuse(403, 'refused', `${method} ${url.pathname} is not one of the inference paths that may be used here.`);
  let body: Body | undefined;
  try {
    body = method === 'POST' ? parsed(await options.readBody(request, maxBodyBytes)) : { bytes: 0, json: {} };
  } catch (error) {
    const { code, message } = asFailure(error);
    if (code === 'body.too_large') return refuse(413, 'too_large', `The request is larger than ${maxBodyBytes} bytes.`);
    if (code === 'server.busy') return refuse(503, 'unreachable', message);
    throw error;
  }
  if (!body) return refuse(400, 'refused', 'The body must be a JSON object.');
  const cost = costOf(provider, shape, url.pathname, body.json, body.bytes);
  if (method === 'POST' && cost === undefined)
    return refuse(
      403,
      'refused',
      `The model ${shape.model(url.pathname, body.json) || '(none)'} has no price in config.yaml and cannot be used here.`,
    );
  let held: Reservation | undefined;
  try {
    held = method === 'POST' ? await options.sessions.reserve(sessionId, cost!.estimate) : undefined;
  } catch (error) {
    return refuse(429, 'budget', asFailure(error).message);
  }
  await forward(options, { provider, shape, url, method, body, request, response, held, cost, refuse });
}

/** A request that was let through, and where its answer goes. */
interface Exchange {
  provider: ProviderConfig;
  shape: ProviderShape;
  url: URL;
  method: string;
  body: Body;
  request: IncomingMessage;
  response: ServerResponse;
  held: Reservation | undefined;
  cost: Cost | undefined;
  refuse(status: number, kind: ErrorKind, message: string): void;
}

async function forward(options: ModelDoorOptions, exchange: Exchange): Promise<void> {
  const { provider, shape, url, method, request, response } = exchange;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const silence = new Silence(options.silenceMs ?? 120_000, gone);
  const target = targetUrl(provider.baseUrl, url.pathname, url.searchParams);
  let reader: UsageReader | undefined;
  let isBilled = false;
  try {
    const key = provider.secret === undefined ? undefined : await options.secret(provider.secret);
    const answer = await options.dialler.fetch(
      target,
      {
        method,
        headers: {
          ...kept(request),
          ...(key !== undefined && shape.keyHeader(key)),
          'accept-encoding': 'identity',
        },
        ...(method === 'POST' && { body: JSON.stringify(shape.prepare(exchange.body.json)) }),
        signal: gone.signal,
      },
      { allow: [new URL(target).host], maxRedirects: 0 },
    );
    silence.heard();
    const type = String(answer.headers['content-type'] ?? 'application/json');
    isBilled = answer.status < 400;
    reader = new UsageReader(shape, type.includes('event-stream'));
    response.writeHead(answer.status, {
      'content-type': type,
      ...(answer.headers['retry-after'] !== undefined && { 'retry-after': String(answer.headers['retry-after']) }),
    });
    response.flushHeaders();
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      silence.heard();
      reader.push(chunk);
      if (!response.write(chunk)) await new Promise<void>((resolve) => onceEither(response, resolve));
    }
    response.end();
  } catch (error) {
    const why = silence.isOver ? 'the provider was silent for too long' : reasonOf(error);
    options.log.warn({ span: 'model', err: error, target }, 'a model request failed');
    if (response.headersSent) response.destroy();
    else exchange.refuse(silence.isOver ? 504 : 502, 'unreachable', `The model provider could not be reached: ${why}`);
  } finally {
    silence.stop();
    await exchange.held?.settle(spent(exchange, reader, isBilled));
  }
}

/** The message of a failure; for an unexpected error its own message, which says more than "internal". */
function reasonOf(error: unknown): string {
  const { code, message } = asFailure(error);
  return code === 'server.internal' ? (error as Error).message : message;
}

/** What the provider said, or what we saw: an answer that was cut off is not free. */
function spent(
  exchange: Exchange,
  reader: UsageReader | undefined,
  isBilled: boolean,
): { input_tokens: number; output_tokens: number; cost_usd: number } {
  const counted = reader?.end() ?? {};
  const input_tokens = counted.input ?? (isBilled ? Math.ceil(exchange.body.bytes / bytesPerToken) : 0);
  const output_tokens = counted.output ?? (isBilled ? Math.ceil((reader?.bytes ?? 0) / bytesPerToken / 4) : 0);
  const { priceIn = 0, priceOut = 0 } = exchange.cost ?? {};
  return { input_tokens, output_tokens, cost_usd: (input_tokens * priceIn + output_tokens * priceOut) / 1e6 };
}

interface Cost {
  estimate: number;
  /** USD per million tokens. */
  priceIn: number;
  priceOut: number;
}

/** undefined when prices are configured and this model has none: what cannot be counted cannot be allowed. */
function costOf(
  provider: ProviderConfig,
  shape: ProviderShape,
  path: string,
  body: Record<string, unknown>,
  bytes: number,
): Cost | undefined {
  if (!provider.prices) return { estimate: 0, priceIn: 0, priceOut: 0 };
  const price = Object.hasOwn(provider.prices, shape.model(path, body))
    ? provider.prices[shape.model(path, body)]
    : undefined;
  if (!price) return undefined;
  const output = shape.maxOutput(body) ?? defaultMaxOutput;
  return {
    estimate: ((bytes / bytesPerToken) * price.in + output * price.out) / 1e6,
    priceIn: price.in,
    priceOut: price.out,
  };
}

interface Body {
  bytes: number;
  json: Record<string, unknown>;
}

function parsed(bytes: Buffer): Body | undefined {
  try {
    const json: unknown = JSON.parse(bytes.toString('utf8'));
    return isObject(json) ? { bytes: bytes.length, json } : undefined;
  } catch {
    return undefined;
  }
}

function kept(request: IncomingMessage): Record<string, string> {
  const pairs = passedHeaders.map((name) => [name, request.headers[name]] as const);
  return Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string'));
}

function send(response: ServerResponse, { status, body }: { status: number; body: object }): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function onceEither(response: ServerResponse, run: () => void): void {
  const done = (): void => {
    response.off('drain', done);
    response.off('close', done);
    run();
  };
  response.on('drain', done);
  response.on('close', done);
  if (response.destroyed) done();
}

/** Aborts when nothing was heard for a while. */
class Silence {
  isOver = false;
  readonly #timer: NodeJS.Timeout;
  constructor(ms: number, gone: AbortController) {
    this.#timer = setTimeout(() => {
      this.isOver = true;
      gone.abort();
    }, ms);
  }
  heard(): void {
    this.#timer.refresh();
  }
  stop(): void {
    clearTimeout(this.#timer);
  }
}
