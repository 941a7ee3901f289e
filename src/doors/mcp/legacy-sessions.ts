import { randomUUID } from 'node:crypto';
import { Failure, type Actor } from '../../schema/index.ts';
import type { UpstreamEvent } from '../../sources/mcp/index.ts';
import { RpcError } from '../../sources/mcp/index.ts';
import { capabilitiesOf } from './capabilities.ts';
import { sendLog } from './exchange.ts';
import type { Handlers } from './handlers.ts';
import { instructionsFor } from './instructions.ts';
import { LegacySession } from './legacy-session.ts';
import { isSameMenu, type Menu, type Menus } from './menu.ts';
import type { Outlet } from './outlet.ts';
import { sessionOf } from './resources.ts';
import { sdkServer } from './sdk-server.ts';
import { Following, type SessionFeed } from './session-feed.ts';

export interface LegacySessionsDeps {
  version: string;
  menus: ShownMenus;
  handlers: Handlers;
  feed?: SessionFeed;
  /** With so many, a new one takes the place of the one that was idle longest. */
  mostSessions?: number;
}

type ShownMenus = Pick<Menus, 'tools' | 'upstream'>;

interface Entry {
  session: LegacySession;
  following: Following;
  /** What the menu looked like when the client was last told. */
  signature: string;
  close(): void;
}

const idleMs = 60 * 60_000;
const rootsMs = 10_000;

/** All clients of the 2025 era that have a session, with what each of them is told unasked. */
export class LegacySessions {
  readonly #deps: LegacySessionsDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #most: number;
  readonly #sweep: NodeJS.Timeout;

  constructor(deps: LegacySessionsDeps) {
    this.#deps = deps;
    this.#most = deps.mostSessions ?? 5_000;
    this.#sweep = setInterval(() => this.#dropIdle(performance.now() - idleMs), 60_000);
    this.#sweep.unref();
  }

  /** Undefined when there is none, or when it belongs to somebody else. */
  find(sessionId: string, actor: Actor, menu: Menu): LegacySession | undefined {
    const session = this.#entries.get(sessionId)?.session;
    if (!session || session.actor.principal !== actor.principal || !isSameMenu(session.menu, menu)) return undefined;
    session.actor = actor;
    return session;
  }

  /** For a single POST of frequent methods, which need neither a memory nor the SDK. */
  passing(actor: Actor, menu: Menu): LegacySession {
    return new LegacySession(undefined, actor, menu, this.#deps.handlers);
  }

  /** A session that lasts, or with `isLasting` false one for a single POST. */
  async open(actor: Actor, menu: Menu, isLasting: boolean): Promise<LegacySession> {
    const { menus, handlers, version, feed } = this.#deps;
    const session = new LegacySession(isLasting ? randomUUID() : undefined, actor, menu, handlers);
    const upstream = menus.upstream(menu);
    const following = new Following(
      feed,
      () => session.actor,
      (_, event) =>
        session.standalone?.write({
          method: 'notifications/message',
          params: { level: 'info', logger: 'oubliette.session', data: event },
          jsonrpc: '2.0',
        }),
    );
    const subscriptions = new Subscriptions(session, menus, feed);
    session.onSession = (sessionId, after) => void following.add(sessionId, after).catch(() => {});
    session.server = sdkServer({
      version,
      era: 'legacy',
      capabilities: capabilitiesOf(menu, upstream),
      instructions: instructionsFor(menu, upstream?.instructions),
      handlers,
      exchange: (context) => session.exchangeOf(context),
      session: {
        setLevel: (level) => {
          session.logLevel = level;
          menus.upstream(menu)?.wantLogs();
        },
        subscribe: (uri) => subscriptions.add(uri),
        unsubscribe: (uri) => subscriptions.remove(uri),
      },
    });
    await session.server.connect(session);
    if (session.sessionId === undefined) return session;
    const stopEvents = upstream?.onEvent((event) => tell(session, event, subscriptions));
    const close = (): void => {
      stopEvents?.();
      following.pause();
      subscriptions.clear();
    };
    const entry = { session, following, signature: await this.#signature(session), close };
    if (this.#entries.size >= this.#most) this.#dropLeastUsed();
    this.#entries.set(session.sessionId, entry);
    return session;
  }

  /** Gives a session its GET stream; it is told of everything from now on. */
  attach(session: LegacySession, outlet: Outlet): void {
    session.standalone = outlet;
    outlet.open();
    const entry = this.#entries.get(session.sessionId ?? '');
    void entry?.following.listen();
    const upstream = this.#deps.menus.upstream(session.menu);
    const gone = new AbortController();
    const keepRoots = session.clientCapabilities['roots']
      ? upstream?.lendRoots(session.actor.principal, () =>
          session.ask('roots/list', {}, AbortSignal.any([gone.signal, AbortSignal.timeout(rootsMs)])),
        )
      : undefined;
    session.onRootsChanged = () => this.#deps.menus.upstream(session.menu)?.rootsChanged();
    outlet.onClose(() => {
      gone.abort();
      keepRoots?.();
      if (session.standalone !== outlet) return;
      session.standalone = undefined;
      session.lastUsed = performance.now();
      entry?.following.pause();
    });
  }

  async end(session: LegacySession): Promise<void> {
    const entry = this.#entries.get(session.sessionId ?? '');
    this.#entries.delete(session.sessionId ?? '');
    entry?.close();
    await session.server?.close();
  }

  /** Tells those whose menu really is another one. */
  async menuChanged(): Promise<void> {
    for (const entry of this.#entries.values()) {
      const { session } = entry;
      if (session.menu.kind === 'run') continue;
      const now = await this.#signature(session);
      if (now === entry.signature) continue;
      entry.signature = now;
      session.standalone?.write({ method: 'notifications/tools/list_changed', jsonrpc: '2.0' });
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#entries.values()].map(({ session }) => this.end(session)));
  }

  async #signature(session: LegacySession): Promise<string> {
    return signatureOf(this.#deps.menus, session.actor, session.menu);
  }

  #dropIdle(before: number): void {
    for (const { session } of this.#entries.values())
      if (!session.isBusy && session.lastUsed <= before) void this.end(session);
  }

  #dropLeastUsed(): void {
    let least: LegacySession | undefined;
    for (const { session } of this.#entries.values())
      if (!session.isBusy && session.lastUsed < (least?.lastUsed ?? Infinity)) least = session;
    if (least) void this.end(least);
  }
}

/** Tells two menus apart without keeping either. */
export async function signatureOf(menus: ShownMenus, actor: Actor, menu: Menu): Promise<string> {
  if (menu.kind === 'run') return '';
  const tools = await menus.tools(actor, menu).catch(() => new Map());
  return [...tools.values()].map((each) => `${each.name}@${each.view.modifiedAt}`).join();
}

function tell(session: LegacySession, event: UpstreamEvent, subscriptions: Subscriptions): void {
  const notify = (method: string, params?: Record<string, unknown>): void =>
    session.standalone?.write({ method, ...(params && { params }), jsonrpc: '2.0' });
  if (event.kind === 'prompts') notify('notifications/prompts/list_changed');
  if (event.kind === 'resources') notify('notifications/resources/list_changed');
  if (event.kind === 'resource' && subscriptions.has(event.uri))
    notify('notifications/resources/updated', { uri: event.uri });
  if (event.kind === 'log')
    sendLog({ era: 'legacy', logLevel: session.logLevel, notify } as Parameters<typeof sendLog>[0], event.entry);
}

/** The resources that a client asked to be told about. */
class Subscriptions {
  readonly #session: LegacySession;
  readonly #menus: ShownMenus;
  readonly #following: Following;
  /** How to end each; one that is still being asked for is there already. */
  readonly #stops = new Map<string, Promise<() => void>>();

  constructor(session: LegacySession, menus: ShownMenus, feed: SessionFeed | undefined) {
    this.#session = session;
    this.#menus = menus;
    this.#following = new Following(
      feed,
      () => session.actor,
      (sessionId) =>
        session.standalone?.write({
          method: 'notifications/resources/updated',
          params: { uri: `oubliette://sessions/${sessionId}/events` },
          jsonrpc: '2.0',
        }),
    );
    void this.#following.listen();
  }

  has(uri: string): boolean {
    return this.#stops.has(uri);
  }

  async add(uri: string): Promise<void> {
    let asking = this.#stops.get(uri);
    if (!asking) this.#stops.set(uri, (asking = this.#ask(uri)));
    try {
      await asking;
    } catch (error) {
      if (this.#stops.get(uri) === asking) this.#stops.delete(uri);
      throw error;
    }
  }

  async remove(uri: string): Promise<void> {
    const asking = this.#stops.get(uri);
    this.#stops.delete(uri);
    (await asking)?.();
  }

  clear(): void {
    this.#following.pause();
    for (const uri of this.#stops.keys()) void this.remove(uri).catch(() => {});
  }

  async #ask(uri: string): Promise<() => void> {
    const upstream = this.#menus.upstream(this.#session.menu);
    if (upstream) return upstream.follow(uri);
    const sessionId = sessionOf(uri);
    if (sessionId === undefined) {
      if (!uri.startsWith('ot://')) throw notFound(uri);
      return () => {};
    }
    await this.#following.add(sessionId, 'newest').catch((error: unknown) => {
      throw error instanceof Failure ? notFound(uri) : error;
    });
    return () => this.#following.remove(sessionId);
  }
}

const notFound = (uri: string): RpcError => new RpcError(-32002, `Resource not found: ${uri.slice(0, 300)}`, { uri });
