import {
  fail,
  Failure,
  textOf,
  type Call,
  type OfferedTool,
  type ServerConfig,
  type ToolResult,
} from '../../schema/index.ts';
import type { Logger } from '../../observe/index.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { followChanges, type ChangeFilter } from './change-feed.ts';
import { Connection, type ConnectionDeps, type ServerState } from './connection.ts';
import type { Definition } from './definitions.ts';
import { FollowedResources } from './followed-resources.ts';
import type { KeepBlob } from './foreign-result.ts';
import { cleanText } from './foreign-text.ts';
import type { Link } from './link.ts';
import { ToolList, type About } from './tool-list.ts';
import { UpstreamCalls, type AskOptions } from './upstream-calls.ts';
import type { WayOut } from './way-out.ts';
import { RpcError } from './wire.ts';

/** What an upstream server told us, for those who show it. */
export type UpstreamEvent =
  | { kind: 'tools' | 'prompts' | 'resources' | 'state' }
  | { kind: 'resource'; uri: string }
  | { kind: 'log'; entry: { level: string; logger?: string; data: unknown } };

export interface UpstreamDeps extends ConnectionDeps {
  log: Logger;
  /** Where the last known list is kept. */
  folder: string;
  keepBlob?: KeepBlob;
}

const mostCalls = 256;
/** How soon a server may be asked for its list again: some announce a change whenever they are asked. */
const leastRestMs = 100;
const mostRestMs = 10_000;

/** One upstream server: its connection, its tools as last listed, and what goes back and forth. */
export class Upstream {
  readonly name: string;
  readonly slug: string;
  readonly config: ServerConfig;
  readonly #log: Logger;
  readonly #redact: WayOut['redact'];
  readonly #connection: Connection;
  readonly #list: ToolList;
  readonly #calls: UpstreamCalls;
  readonly #listeners: Set<(event: UpstreamEvent) => void>;
  readonly #followed: FollowedResources;
  #wantsLogs: boolean;
  #listing: Promise<void> | undefined;
  #listAgain = false;
  /** Not before this time, by `performance.now()`, is the list asked for again. */
  #restUntil = 0;
  /** Why the tools are not as the server has them now. */
  #listTrouble: string | undefined;

  /** `before` is the same server under an earlier configuration: what clients hold on to goes on with this one. */
  constructor(name: string, slug: string, config: ServerConfig, deps: UpstreamDeps, before?: Upstream) {
    this.name = name;
    this.slug = slug;
    this.config = config;
    this.#log = deps.log;
    this.#redact = deps.redact;
    this.#list = new ToolList(deps.folder, name, config);
    this.#connection = new Connection(name, config, deps, {
      onState: (state) => this.#became(state),
      onLink: (link) => this.#follow(link),
      onNotification: (method, params) => this.#noted(method, params),
      onRequest: (method, params, signal) => this.#calls.answer(method, params, signal),
    });
    this.#listeners = before ? before.#listeners : new Set();
    this.#followed = before ? before.#followed : new FollowedResources(this.#connection);
    this.#followed.connection = this.#connection;
    this.#wantsLogs = before ? before.#wantsLogs : false;
    this.#calls = new UpstreamCalls({
      connection: this.#connection,
      maxConcurrent: config.maxConcurrent ?? mostCalls,
      definition: (upstreamName) => this.definition(upstreamName),
      keepBlob: deps.keepBlob,
      ...(before && { roots: before.#calls.roots }),
    });
  }

  get state(): ServerState {
    return this.#connection.state;
  }

  get error(): string | undefined {
    return this.#connection.error;
  }

  get capabilities(): About['capabilities'] {
    return this.#connection.about.capabilities;
  }

  get instructions(): string | undefined {
    return this.#connection.about.instructions;
  }

  get serverInfo(): About['serverInfo'] {
    return this.#connection.about.serverInfo;
  }

  get offered(): OfferedTool[] {
    return this.#list.definitions.offered;
  }

  get warnings(): readonly string[] {
    const { warnings } = this.#list.definitions;
    return this.#listTrouble === undefined ? warnings : [this.#listTrouble, ...warnings];
  }

  /** Tools whose definition is not what it was, with the time. */
  get changed(): Readonly<Record<string, string>> {
    return this.#list.changed;
  }

  get listedAt(): string | undefined {
    return this.#list.listedAt;
  }

  get era(): string | undefined {
    return this.#connection.link?.protocolVersion;
  }

  get isModern(): boolean {
    return this.#connection.link?.era === 'modern';
  }

  /** The last lines of stderr, and what went wrong on the connection. */
  get lines(): readonly string[] {
    return this.#connection.noise.lines;
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
    this.#connection.about = known;
    this.#tell({ kind: 'tools' });
  }

  /** Connects in the background, again and again until it succeeds. */
  connect(): void {
    this.#connection.connect();
  }

  /** Resolves when the connection stands or has failed, at most after `ms`. */
  async settled(ms: number): Promise<void> {
    if (this.state !== 'connecting') return;
    const settled = this.#connection.opened().then(() => this.#listing);
    await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, ms).unref())]);
  }

  reconnect(): Promise<void> {
    return this.#connection.reconnect();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#connection.stop(), this.#list.stop()]);
  }

  kill(): void {
    this.#connection.kill();
  }

  /** Calls a tool. Throws source.unreachable, tool.timeout, tool.cancelled or tool.failed. */
  call(upstreamName: string, args: Record<string, unknown>, call: Call): Promise<ToolResult> {
    return this.#calls.call(upstreamName, args, call);
  }

  /** Any other request (prompts, resources, completion), passed on as it is but for secrets; so is the server's own error. */
  async ask(method: string, params: Record<string, unknown>, options: AskOptions): Promise<Record<string, unknown>> {
    try {
      return this.#redact(await this.#calls.ask(method, params, options));
    } catch (error) {
      const message = this.#redact((error as Error).message);
      if (error instanceof RpcError) throw new RpcError(error.code, message, this.#redact(error.data));
      throw error instanceof Failure ? fail(error.code, { message }, { cause: error }) : error;
    }
  }

  /** Follows one resource until the answered function is called. */
  follow(uri: string): Promise<() => void> {
    return this.#followed.add(uri);
  }

  /** Lets an older server ask a connected client for its roots, also outside a call; answers how to end that. */
  lendRoots(principal: string, ask: () => Promise<unknown>): () => void {
    const takeBack = this.#calls.roots.add(principal, ask);
    this.rootsChanged();
    return () => {
      takeBack();
      this.rootsChanged();
    };
  }

  /** Older servers keep what they were told and ask again only after this. */
  rootsChanged(): void {
    const { link } = this.#connection;
    if (link?.era === 'legacy') void link.notify('notifications/roots/list_changed', {}).catch(() => {});
  }

  /** An older server has one log level for all: it is asked for everything, and each client gets what it wants of it. */
  wantLogs(): void {
    if (this.#wantsLogs) return;
    this.#wantsLogs = true;
    this.#askForLogs(this.#connection.link);
  }

  /** Reads the whole list again; several wishes at once become one more reading. */
  refresh(): Promise<void> {
    if (this.#listing) {
      this.#listAgain = true;
      return this.#listing;
    }
    this.#listing = this.#rested()
      .then(() => this.#readList())
      .catch((error: Error) => {
        this.#connection.noise.keep(`[tools/list] ${error.message}`);
        if (this.capabilities.tools) this.#listTrouble = `its tools cannot be listed: ${cleanText(error.message, 200)}`;
      })
      .finally(() => {
        this.#listing = undefined;
        if (this.#listAgain && !this.#connection.isStopping) {
          this.#listAgain = false;
          void this.refresh();
        }
      });
    return this.#listing;
  }

  async #rested(): Promise<void> {
    const restMs = this.#restUntil - performance.now();
    if (restMs > 0) await sleep(restMs, undefined, { ref: false });
  }

  async #readList(): Promise<void> {
    const { link, timeoutMs } = this.#connection;
    if (!link) return;
    const askedAt = performance.now();
    const { isNew, changed } = await this.#list.refresh(link, timeoutMs).finally(() => {
      const now = performance.now();
      this.#restUntil = now + Math.min(mostRestMs, Math.max(leastRestMs, 4 * (now - askedAt)));
    });
    this.#listTrouble = undefined;
    for (const tool of changed)
      this.#log.warn(
        { span: 'upstream.tools', server: this.name, tool },
        'the definition of a proxied tool has changed',
      );
    if (isNew) this.#tell({ kind: 'tools' });
  }

  #follow(link: Link): void {
    this.#calls.active.forget();
    this.#restUntil = 0;
    void this.refresh();
    this.#askForLogs(link);
    for (const uri of this.#followed.resume(link)) this.#tell({ kind: 'resource', uri });
    const filter = listFilter(link);
    if (filter)
      followChanges(link, filter, {
        isWanted: () => this.#connection.link === link && !this.#connection.isStopping,
        onOpen: () => void this.refresh(),
        onTrouble: (error) => this.#connection.noise.keep(`[listen] ${error.message}`),
      }).opened.catch(() => {});
  }

  #askForLogs(link: Link | undefined): void {
    if (!this.#wantsLogs || link?.era !== 'legacy' || !link.capabilities['logging']) return;
    const { timeoutMs } = this.#connection;
    void link.request('logging/setLevel', { level: 'debug' }, { timeoutMs }).catch(() => {});
  }

  #became(state: ServerState): void {
    const { error } = this;
    this.#log.info(
      { span: 'upstream.state', server: this.name, state, ...(error && { error }) },
      `MCP server ${state}`,
    );
    this.#tell({ kind: 'state' });
  }

  #noted(method: string, params: Record<string, unknown>): void {
    if (method === 'notifications/tools/list_changed') return void this.refresh();
    if (method === 'notifications/prompts/list_changed') return this.#tell({ kind: 'prompts' });
    if (method === 'notifications/resources/list_changed') return this.#tell({ kind: 'resources' });
    if (method === 'notifications/resources/updated')
      return this.#tell({ kind: 'resource', uri: textOf(params['uri']) });
    if (method !== 'notifications/message') return;
    const { level, logger, data } = params;
    const entry = this.#redact({ level: textOf(level), ...(typeof logger === 'string' && { logger }), data });
    const { active } = this.#calls;
    if (active.isIdle) return this.#tell({ kind: 'log', entry });
    active.certain()?.relayLog?.(entry);
  }

  #tell(event: UpstreamEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

/** What to ask a server of the 2026 era to be told of; older servers tell unasked. */
function listFilter({ era, capabilities: { tools, prompts, resources } }: Link): ChangeFilter | undefined {
  const filter = {
    ...(tools?.['listChanged'] === true && { toolsListChanged: true }),
    ...(prompts?.['listChanged'] === true && { promptsListChanged: true }),
    ...(resources?.['listChanged'] === true && { resourcesListChanged: true }),
  };
  return era === 'modern' && Object.keys(filter).length > 0 ? filter : undefined;
}
