import type { FastifyInstance } from 'fastify';
import type { Observer } from '../../observe/index.ts';
import { resource, type Authenticate } from './resource.ts';

/** Health and readiness for anyone; metrics and the API's description for those who may read. */
export function statusRoutes(
  app: FastifyInstance,
  authenticate: Authenticate,
  observe: Observer,
  notReadyBecause: () => string[],
): void {
  const open = { security: [] };
  app.get('/health', { schema: { summary: 'The process answers', ...open } }, async () => ({ status: 'ok' }));
  app.get('/ready', { schema: { summary: 'Everything is loaded', ...open } }, async (_, reply) => {
    const reasons = notReadyBecause();
    return reasons.length === 0 ? { status: 'ready' } : reply.code(503).send({ status: 'starting', reasons });
  });
  resource(app, authenticate, '/metrics', {
    GET: {
      summary: 'Metrics in the Prometheus text format',
      handle: async (_, reply) => reply.type('text/plain; version=0.0.4').send(await observe.metricsText()),
    },
  });
  resource(app, authenticate, '/openapi.json', {
    GET: { summary: 'This description', handle: async () => app.swagger() },
  });
}
