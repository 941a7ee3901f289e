import {
  fail,
  Failure,
  type Call,
  type ClientBehind,
  type OfferedTool,
  type ServerConfig,
  type ToolResult,
} from '../../schema/index.ts';
import type { Logger } from '../../observe/index.ts';
import { ActiveCalls } from './active-calls.ts';
import { followChanges } from './change-feed.ts';
import type { Definition } from './definitions.ts';
import { fillConfig } from './fill-config.ts';
import { foreignResult, refusedResult, type KeepBlob } from './foreign-result.ts';
import { LentRoots } from './lent-roots.ts';
import type { Link, LinkDeps } from './link.ts';
import { Noise } from './noise.ts';
import { headersFor, mirroredParams } from './param-headers.ts';
import { askWithRounds } from './rounds.ts';
import { ToolList } from './tool-list.ts';
import { Turnstile } from './turnstile.ts';
import { upstreamFailure } from './upstream-failure.ts';
import { isNetworkError, RpcError, WireClosed, type RequestOptions } from './wire.ts';

export type ServerState = 'connected' | 'connecting' | 'disconnected' | 'disabled';

/** What an upstream server told us, for those who show it. */
export type UpstreamEvent =
  | { kind: 'tools' | 'prompts' | 'resources' | 'state' }
  | { kind: 'resource'; uri: string }
  | { kind: 'log'; entry: { level: string; logger?: string; data: unknown } };

export interface UpstreamDeps extends Omit<LinkDeps, 'onNoise' | 'signal'> {
  log: Logger;
  /** Where the last known list is kept. */
  folder: string;
  /** Puts secrets in place of `${NAME}`; throws secret.missing. */
  fillIn(text: string): Promise<string> | string;
  keepBlob?: KeepBlob;
}

const defaultTimeoutMs = 30_000;
const connectMs = 60_000;
const firstPauseMs = 500;
const longestPauseMs = 60_000;

/** One upstream server: connects in the background, comes back after a break, and remembers its list meanwhile. */
export class Upstream {
  readonly name: string;
  readonly slug: string;
  readonly config: ServerConfig;
  state: ServerState = 'connecting';
  error: string | undefined;
  capabilities: Link['capabilities'] = {};
  instructions: string | undefined;
  serverInfo: Link['serverInfo'] = {};
  readonly #deps: UpstreamDeps;
  readonly #list: ToolList;
  readonly #active = new ActiveCalls();
  readonly #turnstile: Turnstile;
  readonly #roots = new LentRoots();
  readonly #noise = new Noise();
  readonly #listeners = new Set<(event: UpstreamEvent) => void>();
  #link: Link | undefined;
  #opening: Promise<Link> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #failures = 0;
  #lastTry = 0;
  #listing: Promise<void> | undefined;
  #listAgain = false;
  readonly #stopping = new AbortController();

  constructor(name: string, slug: string, config: ServerConfig, deps: UpstreamDeps) {
    this.name = name;
    this.slug = slug;
    this.config = config;
    this.#deps = deps;
    this.#list = new ToolList(deps.folder, name, config);
    this.#turnstile = new Turnstile(config.maxConcurrent ?? 256);
  }

  get offered(): OfferedTool[] {
    return this.#list.definitions.offered;
  }

  get warnings(): readonly string[] {
    return this.#list.definitions.warnings;
  }

  /** Tools whose definition is not what it was, with the time. */
  get changed(): Readonly<Record<string, string>> {
    return this.#list.changed;
  }

  get listedAt(): string | undefined {
    return this.#list.listedAt;
  }

  get era(): string | undefined {
    return this.#link?.protocolVersion;
  }

  get isModern(): boolean {
    return this.#link?.era === 'modern';
  }

  /** The last lines of stderr, and what went wrong on the connection. */
  get lines(): readonly string[] {
    return this.#noise.lines;
  }

  definition(upstreamName: string): Definition | undefined {
    return this.#list.definitions.byName.get(upstreamName);
  }

  onEvent(listener: (event: UpstreamEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Shows what was known the last time. */
  async recall(): Promise<void> {
    const known = await this.#list.recall();
    if (!known) return;
    Object.assign(this, known);
    this.#tell({ kind: 'tools' });
  }

  /** Connects in the background, again and again until it succeeds. */
  connect(): void {
    if (!this.#link && !this.#stopping.signal.aborted) void this.#connected().catch(() => {});
  }

  /** Resolves when the connection stands or has failed, at most after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.state !== 'connecting') return;
    const opening = this.#opening?.then(
      () => this.#listing,
      () => {},
    );
    await Promise.race([opening, new Promise((resolve) => setTimeout(resolve, ms).unref())]);
  }

  async reconnect(): Promise<void> {
    this.#failures = 0;
    clearTimeout(this.#retry);
    const link = this.#link;
    this.#link = undefined;
    await link?.close();
    await this.#connected();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#retry);
    const link = this.#link;
    this.#link = undefined;
    this.state = 'disconnected';
    await Promise.all([link?.close(), this.#opening?.catch(() => {}), this.#list.saved()]);
  }

  kill(): void {
    this.#stopping.abort();
    this.#link?.kill();
  }

  /** Calls a tool. Throws source.unreachable, tool.timeout, tool.cancelled or tool.failed. */
  async call(upstreamName: string, args: Record<string, unknown>, call: Call): Promise<ToolResult> {
    return this.#turnstile.run(this.#what(), () => this.#callOnce(upstreamName, args, call, true));
  }

  async #callOnce(
    upstreamName: string,
    args: Record<string, unknown>,
    call: Call,
    mayRepeat: boolean,
  ): Promise<ToolResult> {
    const link = this.#link ?? (await this.#connected());
    this.#active.add(call);
    try {
      const options = this.#options(call);
      if (link.isHttp && link.era === 'modern') {
        const mirrored = mirroredParams(this.definition(upstreamName)?.inputSchema);
        if (mirrored.length > 0) options.headers = headersFor(mirrored, args);
      }
      const params = { name: upstreamName, arguments: args };
      const ask = (method: string, details: unknown): Promise<unknown> => call.askClient(method, details);
      const raw = await askWithRounds(link, 'tools/call', params, options, ask, call.client);
      if (raw['resultType'] === 'input_required') return { value: null, inputRequired: raw };
      const keep = this.#deps.keepBlob;
      return await foreignResult(raw, keep && ((bytes, mimeType) => keep(call.actor.principal, bytes, mimeType)));
    } catch (error) {
      if (error instanceof RpcError) return refusedResult(error);
      const isForgotten = this.#noticeHttp(link, error);
      // A server that does not know our session any more has done nothing yet.
      if (isForgotten && mayRepeat) return this.#callOnce(upstreamName, args, call, false);
      throw this.#failure(error, upstreamName);
    } finally {
      this.#active.delete(call);
    }
  }

  /** Over HTTP nobody tells us that a server is gone: a failed request does. True when it has forgotten our session. */
  #noticeHttp(link: Link, error: unknown): boolean {
    const status = link.statusOf(error);
    if (status === undefined) {
      if (link.isHttp && isNetworkError(error)) this.#lost(link, (error as Error).message);
      return false;
    }
    if (status !== 404) return false;
    this.#lost(link, 'the server has forgotten our session');
    this.#failures = 0;
    void link.close().catch(() => {});
    return true;
  }

  /** Any other request (prompts, resources, completion), passed on as it is. The server's own error is thrown unchanged. */
  async ask(
    method: string,
    params: Record<string, unknown>,
    options: {
      signal?: AbortSignal;
      onClientRequest?: (method: string, params: unknown) => Promise<unknown>;
      client?: ClientBehind;
    },
  ): Promise<Record<string, unknown>> {
    const link = this.#link ?? (await this.#connected());
    try {
      const ask = async (asked: string, details: unknown): Promise<unknown> => {
        if (!options.onClientRequest) throw new RpcError(-32601, 'nobody is there to ask');
        return options.onClientRequest(asked, details);
      };
      return await askWithRounds(
        link,
        method,
        params,
        { signal: options.signal, timeoutMs: this.#timeoutMs },
        ask,
        options.client,
      );
    } catch (error) {
      if (error instanceof RpcError) throw error;
      this.#noticeHttp(link, error);
      throw this.#failure(error, method);
    }
  }

  /** Follows one resource: older servers by a subscription, newer ones by a stream that stays open. */
  async follow(uri: string): Promise<() => Promise<void>> {
    const link = this.#link ?? (await this.#connected());
    if (link.era === 'modern') {
      const stream = await link.listen({ resourceSubscriptions: [uri] });
      return async () => stream?.close();
    }
    await link.request('resources/subscribe', { uri }, { timeoutMs: this.#timeoutMs });
    return async () => void (await link.request('resources/unsubscribe', { uri }, { timeoutMs: this.#timeoutMs }));
  }

  /** Lets an older server ask a connected client for its roots, also outside a call; answers how to end that. */
  lendRoots(principal: string, ask: () => Promise<unknown>): () => void {
    const takeBack = this.#roots.add(principal, ask);
    this.rootsChanged();
    return () => {
      takeBack();
      this.rootsChanged();
    };
  }

  /** Older servers keep what they were told and ask again only after this. */
  rootsChanged(): void {
    if (this.#link?.era === 'legacy') void this.#link.notify('notifications/roots/list_changed', {}).catch(() => {});
  }

  get #timeoutMs(): number {
    return this.config.timeoutMs ?? defaultTimeoutMs;
  }

  #what(): string {
    return `MCP server ${this.name}`;
  }

  #options(call: Call): RequestOptions {
    return { signal: call.signal, timeoutMs: this.#timeoutMs, onProgress: (progress) => call.progress(progress) };
  }

  #failure(error: unknown, tool: string): Failure {
    return upstreamFailure(error, this.#what(), tool, this.#timeoutMs);
  }

  /** The standing connection, or the one being made; a server that failed a moment ago is not asked again at once. */
  async #connected(): Promise<Link> {
    if (this.#stopping.signal.aborted || this.config.enabled === false)
      throw fail('source.unreachable', {
        what: this.#what(),
        reason: this.#stopping.signal.aborted ? 'the server is stopping' : 'it is disabled in config.yaml',
      });
    if (this.#link) return this.#link;
    if (!this.#opening && this.#failures > 0 && Date.now() - this.#lastTry < firstPauseMs)
      throw fail('source.unreachable', { what: this.#what(), reason: this.error ?? 'it is not connected' });
    this.#opening ??= this.#open().finally(() => (this.#opening = undefined));
    const waitMs = Math.max(this.#timeoutMs, 1000);
    const late = new Promise<never>((_, reject) =>
      setTimeout(
        () => reject(fail('source.unreachable', { what: this.#what(), reason: `no connection within ${waitMs} ms` })),
        waitMs,
      ).unref(),
    );
    return Promise.race([this.#opening, late]);
  }

  async #open(): Promise<Link> {
    clearTimeout(this.#retry);
    this.#lastTry = Date.now();
    this.#become('connecting');
    try {
      const config = await fillConfig(this.config, this.#deps.fillIn);
      // The client half of the SDK comes with the first connection: many servers have no upstream.
      const { openLink } = await import('./link.ts');
      const link = await openLink(
        config,
        this.#hooks(),
        { ...this.#deps, onNoise: (line) => this.#noise.keep(line), signal: this.#stopping.signal },
        connectMs,
      );
      if (this.#stopping.signal.aborted) {
        await link.close();
        throw new WireClosed('the server is stopping');
      }
      this.#link = link;
      this.#failures = 0;
      this.error = undefined;
      this.capabilities = link.capabilities;
      this.instructions = link.instructions;
      this.serverInfo = link.serverInfo;
      link.onClose(() => this.#lost(link, 'the connection was closed'));
      this.#become('connected');
      void this.refresh();
      void this.#listen(link);
      return link;
    } catch (error) {
      this.error = this.#noise.explain((error as Error).message);
      const failure = this.#failure(error instanceof Failure ? error : new Error(this.error), 'connect');
      this.#noise.keep(`[connect] ${failure.message}`);
      this.#breakOff();
      throw failure;
    }
  }

  #lost(link: Link, reason: string): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.error = this.#noise.explain(reason);
    if (!this.#stopping.signal.aborted) this.#breakOff();
  }

  #breakOff(): void {
    this.#failures++;
    this.#become('disconnected');
    if (this.#stopping.signal.aborted) return;
    const pauseMs =
      Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 10)) * (0.75 + Math.random() / 2);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connected().catch(() => {}), pauseMs);
    this.#retry.unref();
  }

  #become(state: ServerState): void {
    if (this.state === state) return;
    this.state = state;
    this.#deps.log.info({ server: this.name, state, ...(this.error && { error: this.error }) }, `MCP server ${state}`);
    this.#tell({ kind: 'state' });
  }

  #tell(event: UpstreamEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #hooks() {
    return {
      onNotification: (method: string, params: Record<string, unknown>) => this.#noted(method, params),
      onRequest: async (method: string, params: Record<string, unknown>) => {
        const call = this.#active.certain();
        if (call) return call.askClient(method, params);
        if (method === 'roots/list') return this.#roots.answer();
        throw new RpcError(-32601, `${method} cannot be answered: it is not certain whose call this belongs to`);
      },
    };
  }

  #noted(method: string, params: Record<string, unknown>): void {
    if (method === 'notifications/tools/list_changed') return void this.refresh();
    if (method === 'notifications/prompts/list_changed') return this.#tell({ kind: 'prompts' });
    if (method === 'notifications/resources/list_changed') return this.#tell({ kind: 'resources' });
    if (method === 'notifications/resources/updated')
      return this.#tell({ kind: 'resource', uri: String(params['uri']) });
    if (method !== 'notifications/message') return;
    const { level, logger, data } = params;
    const entry = { level: String(level), ...(typeof logger === 'string' && { logger }), data };
    if (this.#active.size === 0) return this.#tell({ kind: 'log', entry });
    this.#active.certain()?.relayLog?.(entry);
  }

  #listen(link: Link): Promise<void> {
    return followChanges(link, {
      isWanted: () => this.#link === link && !this.#stopping.signal.aborted,
      onGap: () => void this.refresh(),
      onTrouble: (error) => this.#noise.keep(`[listen] ${error.message}`),
    });
  }

  /** Reads the whole list again; several wishes at once become one more reading. */
  refresh(): Promise<void> {
    if (this.#listing) {
      this.#listAgain = true;
      return this.#listing;
    }
    this.#listing = this.#readList()
      .catch((error: Error) => this.#noise.keep(`[tools/list] ${error.message}`))
      .finally(() => {
        this.#listing = undefined;
        if (this.#listAgain && !this.#stopping.signal.aborted) {
          this.#listAgain = false;
          void this.refresh();
        }
      });
    return this.#listing;
  }

  async #readList(): Promise<void> {
    if (!this.#link) return;
    const { isNew, changed } = await this.#list.refresh(this.#link, this.#timeoutMs);
    for (const tool of changed)
      this.#deps.log.warn({ server: this.name, tool }, 'the definition of a proxied tool has changed');
    if (isNew) this.#tell({ kind: 'tools' });
  }
}
