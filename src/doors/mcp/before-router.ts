import type { IncomingMessage, RequestListener } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { menuAt, type Menu } from './menu.ts';
import type { Visits } from './visits.ts';

export interface BeforeRouterDeps {
  /** Undefined until the first request was routed, and while the server closes. */
  visits(): Visits | undefined;
  isOrdinary(request: IncomingMessage): boolean;
}

const plainPath = /^\/mcp(?:\/run|\/b\/[a-z0-9][a-z0-9-]*)?$/;
const json = /^application\/json(?:;\s*charset=utf-8)?$/i;
const mostKept = 1_000;

/**
 * Takes POSTs to MCP addresses off the server before the router sees them: what it does for a request costs as much as
 * a whole call. Only those that it would let pass without a word; everything else goes to it as ever.
 */
export function beforeRouter(app: FastifyInstance, { visits, isOrdinary }: BeforeRouterDeps): void {
  const { server } = app;
  const [router] = server.listeners('request') as RequestListener[];
  const maxBytes = app.initialConfig.bodyLimit ?? 0;
  const menus = new Map<string, Menu>();
  const menuOf = (path: string): Menu | undefined => {
    const known = menus.get(path);
    if (known || !plainPath.test(path)) return known;
    const menu = menuAt(path);
    if (menus.size < mostKept) menus.set(path, menu);
    return menu;
  };
  if (!router) return;
  server.off('request', router);
  server.on('request', (request, response) => {
    const open = visits();
    const menu = open && request.method === 'POST' ? menuOf(request.url ?? '') : undefined;
    if (!open || !menu || !isPlain(request, maxBytes) || !isOrdinary(request)) return router(request, response);
    void open.pass(request, response, menu, () => router(request, response));
  });
}

function isPlain({ headers }: IncomingMessage, maxBytes: number): boolean {
  const length = headers['content-length'];
  return (
    length !== undefined &&
    Number(length) <= maxBytes &&
    json.test(headers['content-type'] ?? '') &&
    headers.expect === undefined
  );
}
