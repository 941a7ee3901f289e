import {
  createMcpHandler,
  InMemoryServerEventBus,
  type McpHttpHandler,
  type ServerContext,
  type ServerEvent,
} from '@modelcontextprotocol/server';
import type { Actor } from '../../schema/index.ts';
import { isObject } from '../../schema/index.ts';
import type { Logger } from '../../observe/index.ts';
import { capabilitiesOf } from './capabilities.ts';
import type { ClientCapabilities, Exchange, JsonObject, RequestId } from './exchange.ts';
import type { Handlers } from './handlers.ts';
import { instructionsFor } from './instructions.ts';
import { signatureOf } from './legacy-sessions.ts';
import type { Menu, Menus } from './menu.ts';
import { sessionOf } from './resources.ts';
import { sdkServer } from './sdk-server.ts';
import { Following, type SessionFeed } from './session-feed.ts';

export interface ModernDeps {
  version: string;
  menus: Menus;
  handlers: Handlers;
  log: Logger;
  feed?: SessionFeed;
  onMenuChange(listener: () => void): () => void;
}

const prefix = 'io.modelcontextprotocol/';

/** Serves the 2026 era through the SDK: whatever is not frequent, and everything that is wrong. */
export class ModernSdk {
  readonly #deps: ModernDeps;
  readonly #open = new Set<McpHttpHandler>();

  constructor(deps: ModernDeps) {
    this.#deps = deps;
  }

  /** `ended` fires when the client is gone or the answer is complete. */
  async serve(request: Request, body: unknown, actor: Actor, menu: Menu, ended: AbortSignal): Promise<Response> {
    const bus = new InMemoryServerEventBus();
    const handler = createMcpHandler((context) => this.#server(actor, menu, context.era), {
      legacy: 'reject',
      bus,
      onerror: (error) => this.#deps.log.debug({ span: 'mcp.request', err: error }, 'an MCP request was refused'),
    });
    const stop =
      isObject(body) && body['method'] === 'subscriptions/listen'
        ? await this.#publish(bus, body, actor, menu)
        : undefined;
    this.#open.add(handler);
    const leave = (): void => {
      stop?.();
      this.#open.delete(handler);
    };
    ended.addEventListener('abort', leave, { once: true });
    // They may have left while it was looked up what they listen to.
    if (ended.aborted) leave();
    return handler.fetch(request, { parsedBody: body });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((handler) => handler.close()));
  }

  #server(actor: Actor, menu: Menu, era: 'legacy' | 'modern') {
    const { menus, handlers, version } = this.#deps;
    const upstream = menus.upstream(menu);
    return sdkServer({
      version,
      era,
      capabilities: capabilitiesOf(menu, upstream),
      instructions: instructionsFor(menu, upstream?.instructions),
      handlers,
      exchange: (context) => exchangeOf(context, actor, menu),
    });
  }

  /** Feeds one listening client with what it asked for; answers how to stop. */
  async #publish(bus: InMemoryServerEventBus, body: JsonObject, actor: Actor, menu: Menu): Promise<() => void> {
    const { menus, onMenuChange, feed } = this.#deps;
    const stops: (() => void)[] = [];
    const publish = (event: ServerEvent): void => bus.publish(event);
    let signature = await signatureOf(menus, actor, menu);
    stops.push(
      onMenuChange(() => {
        void signatureOf(menus, actor, menu).then((now) => {
          if (now !== signature) publish({ kind: 'tools_list_changed' });
          signature = now;
        });
      }),
    );
    const upstream = menus.upstream(menu);
    const uris = listenedUris(body);
    if (upstream) {
      const stopEvents = upstream.onEvent((event) => {
        if (event.kind === 'prompts') publish({ kind: 'prompts_list_changed' });
        if (event.kind === 'resources') publish({ kind: 'resources_list_changed' });
        if (event.kind === 'resource') publish({ kind: 'resource_updated', uri: event.uri });
      });
      stops.push(stopEvents);
      for (const uri of uris) {
        const following = upstream.follow(uri);
        following.catch(() => {});
        stops.push(() => void following.then((stop) => stop()).catch(() => {}));
      }
    } else {
      const following = new Following(
        feed,
        () => actor,
        (sessionId) => publish({ kind: 'resource_updated', uri: `oubliette://sessions/${sessionId}/events` }),
      );
      await following.listen();
      for (const uri of uris) {
        const sessionId = sessionOf(uri);
        if (sessionId !== undefined) await following.add(sessionId, 'newest').catch(() => {});
      }
      stops.push(() => following.pause());
    }
    return () => stops.forEach((stop) => stop());
  }
}

function listenedUris(body: JsonObject): string[] {
  const filter = (body['params'] as JsonObject | undefined)?.['notifications'] as JsonObject | undefined;
  const uris = filter?.['resourceSubscriptions'];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, 100) : [];
}

function exchangeOf({ mcpReq, http }: ServerContext, actor: Actor, menu: Menu): Exchange {
  const envelope = (mcpReq.envelope ?? {}) as JsonObject;
  const logLevel = envelope[`${prefix}logLevel`];
  const token = mcpReq._meta?.progressToken;
  return {
    actor,
    menu,
    era: 'modern',
    signal: mcpReq.signal,
    clientCapabilities: (envelope[`${prefix}clientCapabilities`] ?? {}) as ClientCapabilities,
    ...(token !== undefined && { progressToken: token as RequestId }),
    ...(typeof logLevel === 'string' && { logLevel }),
    notify: (method, params) =>
      void mcpReq.notify({ method, params } as Parameters<typeof mcpReq.notify>[0]).catch(() => {}),
    header: (name) => http?.req?.headers.get(name) ?? undefined,
    retry: { requestState: mcpReq.requestState(), inputResponses: mcpReq.inputResponses as JsonObject | undefined },
  };
}
