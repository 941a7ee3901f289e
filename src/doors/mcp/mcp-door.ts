import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from '../../gate/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { Actor } from '../../schema/index.ts';
import type { McpServers } from '../../sources/mcp/index.ts';
import { menuAt, type Menu } from './menu.ts';
import type { SessionFeed } from './session-feed.ts';
import type { Visits } from './visits.ts';

/** A POST that the router has not seen. */
export interface Post {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Hands it to the router after all; before its body was read. */
  route(): void;
  /** Undefined when the client hung up before its end. */
  body(): Buffer | Promise<Buffer | undefined>;
}

export interface McpDoorDeps {
  gate: Gate;
  /** Those that need nothing of the router, by their path. */
  posts: { take(find: (path: string) => ((post: Post) => void) | undefined): void };
  /** Who asks; throws auth.required or auth.invalid. */
  authenticate(request: { headers: IncomingHttpHeaders; socket?: object }): Promise<Actor> | Actor;
  /** The whole of a body that came by the router; fails when it is too large or there is no room for it. */
  readBody(request: IncomingMessage): Promise<Buffer>;
  servers: Pick<McpServers, 'find'>;
  /** Bundles of the server's own tools. */
  ownBundles: ReadonlySet<string>;
  version: string;
  log: Logger;
  feed?: SessionFeed;
}

const plainPath = /^\/mcp(?:\/run|\/b\/[a-z0-9][a-z0-9-]*)?$/;

/** MCP over streamable HTTP, both eras on each of `/mcp`, `/mcp/run` and `/mcp/b/{bundle}`. */
export async function mcpDoor(app: FastifyInstance, deps: McpDoorDeps): Promise<void> {
  // The SDK comes with the first request: it takes as long to load as all else together.
  let opening: Promise<Visits> | undefined;
  let visits: Visits | undefined;
  const open = async (): Promise<Visits> => (visits = (await import('./visits.ts')).openVisits(deps));
  const visit = async (request: FastifyRequest, reply: FastifyReply, menu: Menu): Promise<void> =>
    (await (opening ??= open())).visit(request, reply, menu);

  deps.posts.take((path) => {
    if (!plainPath.test(path)) return undefined;
    const menu = menuAt(path);
    return (post) => (visits ? void visits.pass(post, menu) : post.route());
  });
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) =>
      (await deps.readBody(payload)).toString(),
    );
    // No body of a stranger is read.
    scope.addHook('onRequest', async (request) => void (await deps.authenticate(request)));
    const menus: [string, string, (request: FastifyRequest) => Menu][] = [
      ['/mcp', "MCP: run and the server's own tools", () => menuAt('/mcp')],
      ['/mcp/run', 'MCP: one tool, run, with everything behind it', () => menuAt('/mcp/run')],
      ['/mcp/b/:bundle', "MCP: one bundle's tools under their own names", bundleMenu],
    ];
    for (const [url, summary, menu] of menus) {
      const handler = (request: FastifyRequest, reply: FastifyReply) => visit(request, reply, menu(request));
      scope.route({ method: 'POST', url, schema: { summary }, handler });
      scope.route({ method: ['GET', 'DELETE', 'PUT', 'PATCH'], url, schema: { hide: true }, handler });
    }
    // Streams would keep the server from closing.
    scope.addHook('preClose', async () => (await opening)?.close());
  });
}

const bundleMenu = (request: FastifyRequest): Menu => ({
  kind: 'bundle',
  slug: (request.params as { bundle: string }).bundle,
});
