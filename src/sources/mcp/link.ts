import { Client, SseError, SdkError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { SubscriptionFilter, Transport } from '@modelcontextprotocol/client';
import { ExactAnswers, fail, type ServerConfig } from '../../schema/index.ts';
import { hasForgotten, hasGivenUpStream, httpStatus, httpTransport, sseTransport } from './http-transports.ts';
import { planLaunch } from './launch.ts';
import { StdioPipe } from './stdio-pipe.ts';
import type { WayOut } from './way-out.ts';
import { ProcessWire, Wire, WireClosed, type RequestOptions, type WireHooks } from './wire.ts';

/** What one upstream connection offers, whatever its transport and era. */
export interface Link {
  readonly era: 'modern' | 'legacy';
  readonly protocolVersion: string;
  readonly isHttp: boolean;
  readonly capabilities: Record<string, Record<string, unknown> | undefined>;
  readonly serverInfo: { name?: string; version?: string; title?: string };
  readonly instructions?: string;
  request(method: string, params: Record<string, unknown>, options: RequestOptions): Promise<Record<string, unknown>>;
  notify(method: string, params: Record<string, unknown>): Promise<void>;
  /** 2026 era: asks to be told of changes; undefined when the server has nothing to tell. */
  listen(filter: SubscriptionFilter): Promise<{ closed: Promise<unknown>; close(): Promise<void> } | undefined>;
  /** True when this error says that the server knows nothing of our session any more. */
  hasForgotten(error: unknown): boolean;
  onClose(listener: () => void): void;
  close(): Promise<void>;
  /** Closes as soon as nobody waits for an answer on it. */
  retire(): void;
  /** Closes at once, without waiting. */
  kill(): void;
}

export interface LinkDeps {
  version: string;
  /** Folder that processes must not see. */
  home: string;
  fetchFor: WayOut['fetchFor'];
  /** Set for a server that wants access tokens. */
  accessToken?: ((rejected?: string) => Promise<string>) | undefined;
  /** What a process wrote to stderr. */
  onNoise(line: string): void;
  onTrouble(error: Error): void;
  /** The server wants to be left alone for so long. */
  onWait(ms: number): void;
  /** Gives up a connection that is still being made. */
  signal: AbortSignal;
}

const clientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: { listChanged: true },
};

/** How long a process may leave the question of its era unanswered before it counts as an older one. */
const probeMs = 8_000;

/** How often to check whether a connection that is being closed is still needed. */
const retireMs = 250;

/** Connects, finding out the transport and the era; `config` has its secrets filled in. Throws what went wrong. */
export async function openLink(
  config: ServerConfig,
  hooks: WireHooks,
  deps: LinkDeps,
  connectMs: number,
): Promise<Link> {
  if (config.command) return openProcess(config, hooks, deps, connectMs);
  if (!config.url) throw fail('config.invalid', { message: 'a server needs command or url' });
  const wanted = config.type ?? config.transport;
  if (wanted === 'sse') return openSse(config, hooks, deps, connectMs);
  try {
    return await openHttp(config, hooks, deps, connectMs);
  } catch (error) {
    // Before streamable HTTP there was only SSE; such a server refuses the POST.
    if (wanted === undefined && [400, 404, 405].includes(httpStatus(error) ?? 0))
      return openSse(config, hooks, deps, connectMs);
    throw error;
  }
}

async function openProcess(config: ServerConfig, hooks: WireHooks, deps: LinkDeps, connectMs: number): Promise<Link> {
  const plan = await planLaunch(
    { command: config.command ?? '', args: config.args ?? [], env: config.env ?? {}, cwd: config.cwd },
    deps.home,
  );
  const attempt = async (isLegacy: boolean): Promise<Link> => {
    const pipe = new StdioPipe(plan);
    pipe.onnoise = deps.onNoise;
    return handShake(new ProcessWire(pipe, hooks), pipe, deps, connectMs, isLegacy);
  };
  try {
    return await attempt(false);
  } catch (error) {
    // Some older servers end themselves on a request before `initialize`.
    if (error instanceof SdkError && /closed/.test(error.message) && !deps.signal.aborted) return attempt(true);
    throw error;
  }
}

function openHttp(config: ServerConfig, hooks: WireHooks, deps: LinkDeps, connectMs: number): Promise<Link> {
  const exact = new ExactAnswers();
  const inner = httpTransport(config, deps, exact);
  return handShake(new Wire(inner, hooks, exact), inner, deps, connectMs, false);
}

function openSse(config: ServerConfig, hooks: WireHooks, deps: LinkDeps, connectMs: number): Promise<Link> {
  const exact = new ExactAnswers();
  const inner = sseTransport(config, deps, exact);
  return handShake(new Wire(inner, hooks, exact), inner, deps, connectMs, true);
}

async function handShake(
  wire: Wire,
  inner: Transport,
  deps: LinkDeps,
  connectMs: number,
  isLegacy: boolean,
): Promise<Link> {
  const client = new Client(
    { name: 'oubliette', version: deps.version },
    {
      capabilities: clientCapabilities,
      versionNegotiation: { mode: 'auto', probe: { timeoutMs: Math.min(probeMs, connectMs) } },
    },
  );
  const isHttp = !(inner instanceof StdioPipe);
  const closeListeners: (() => void)[] = [];
  const retire = (): void => {
    const look = setInterval(() => {
      if (wire.isWaiting) return;
      clearInterval(look);
      void endLink(client, inner);
    }, retireMs);
    look.unref();
  };
  /** We would not hear of changes any more: what still runs may end, but another connection is needed. */
  const deafened = (): void => {
    closeListeners.forEach((listener) => listener());
    retire();
  };
  client.onerror = (error) => {
    deps.onTrouble(error);
    // With its stream an SSE server has lost our session; another stream alone would not bring it back.
    if (error instanceof SseError) void wire.close().catch(() => {});
    if (hasGivenUpStream(error)) deafened();
  };
  try {
    deps.signal.throwIfAborted();
    const connecting = client.connect(wire, { timeout: connectMs, ...(isLegacy && { prior: { kind: 'legacy' } }) });
    await inTime(connecting, connectMs, deps.signal);
  } catch (error) {
    await wire.close().catch(() => {});
    throw error;
  }
  const era = client.getProtocolEra() === 'modern' ? 'modern' : 'legacy';
  const protocolVersion = client.getNegotiatedProtocolVersion() ?? '';
  if (era === 'modern')
    wire.envelope = {
      'io.modelcontextprotocol/protocolVersion': protocolVersion,
      'io.modelcontextprotocol/clientInfo': { name: 'oubliette', version: deps.version },
      'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
      'io.modelcontextprotocol/logLevel': 'debug',
    };
  client.onclose = () => closeListeners.forEach((listener) => listener());
  const capabilities = (client.getServerCapabilities() ?? {}) as Link['capabilities'];
  return {
    era,
    protocolVersion,
    isHttp,
    capabilities,
    serverInfo: client.getServerVersion() ?? {},
    instructions: client.getInstructions(),
    request: (method, params, options) => wire.request(method, params, options),
    notify: (method, params) => wire.notify(method, params),
    listen: async (filter) => (era === 'modern' ? client.listen(filter) : undefined),
    hasForgotten: (error) => hasForgotten(error, era),
    onClose: (listener) => void closeListeners.push(listener),
    close: () => endLink(client, inner),
    retire,
    kill: () => (inner instanceof StdioPipe ? inner.kill() : void client.close().catch(() => {})),
  };
}

/** The SDK bounds only some steps of a connection: a server may also leave the others unanswered. */
async function inTime(connecting: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  let giveUp = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    giveUp = () => reject(new WireClosed('the server is stopping'));
    timer = setTimeout(() => reject(new Error(`no connection within ${ms} ms`)), ms).unref();
    signal.addEventListener('abort', giveUp);
  });
  connecting.catch(() => {});
  try {
    await Promise.race([connecting, late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', giveUp);
  }
}

async function endLink(client: Client, inner: Transport): Promise<void> {
  if (inner instanceof StreamableHTTPClientTransport)
    await Promise.race([
      inner.terminateSession().catch(() => {}),
      new Promise((resolve) => setTimeout(resolve, 500).unref()),
    ]);
  await client.close().catch(() => {});
}
