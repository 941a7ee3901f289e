import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Gate } from '../../gate/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { Actor } from '../../schema/index.ts';
import type { McpServers } from '../../sources/mcp/index.ts';
import type { Menu } from './menu.ts';
import type { SessionFeed } from './session-feed.ts';
import type { Visits } from './visits.ts';

export interface McpDoorDeps {
  gate: Gate;
  /** Who asks; throws auth.required or auth.invalid. */
  authenticate(request: FastifyRequest): Promise<Actor> | Actor;
  servers: Pick<McpServers, 'find'>;
  /** Bundles of the server's own tools. */
  ownBundles: ReadonlySet<string>;
  version: string;
  log: Logger;
  feed?: SessionFeed;
}

/** MCP over streamable HTTP, both eras on each of `/mcp`, `/mcp/run` and `/mcp/b/{bundle}`. */
export async function mcpDoor(app: FastifyInstance, deps: McpDoorDeps): Promise<void> {
  // The SDK comes with the first request: it takes as long to load as all else together.
  let opening: Promise<Visits> | undefined;
  const open = async (): Promise<Visits> => (await import('./visits.ts')).openVisits(deps);
  const visit = async (request: FastifyRequest, reply: FastifyReply, menu: Menu): Promise<void> =>
    (await (opening ??= open())).visit(request, reply, menu);

  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    const method = ['GET', 'POST', 'DELETE', 'PUT', 'PATCH'];
    const hidden = { schema: { hide: true } };
    scope.route({
      method,
      url: '/mcp',
      ...hidden,
      handler: (request, reply) => visit(request, reply, { kind: 'own' }),
    });
    scope.route({
      method,
      url: '/mcp/run',
      ...hidden,
      handler: (request, reply) => visit(request, reply, { kind: 'run' }),
    });
    scope.route({
      method,
      url: '/mcp/b/:bundle',
      ...hidden,
      handler: (request, reply) =>
        visit(request, reply, { kind: 'bundle', slug: (request.params as { bundle: string }).bundle }),
    });
    // Streams would keep the server from closing.
    scope.addHook('preClose', async () => (await opening)?.close());
  });
}
