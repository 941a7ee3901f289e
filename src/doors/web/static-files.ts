import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { fail } from '../../schema/index.ts';

/**
 * No inline script, nothing from elsewhere, no frames. Styles may be inline because the code editor makes style
 * elements; blob: and data: images are pictures that a tool answered and a person asked to see.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' blob: data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = 'index.html';

/** The built app under /app. Every address that is no file is the page itself, so that deep links work. */
export async function staticFiles(app: FastifyInstance, folder: string): Promise<void> {
  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    if (request.headers.accept?.includes('text/html')) return reply.redirect('/app/');
    throw fail('route.not_found', { method: 'GET', path: '/' });
  });
  if (!existsSync(join(folder, page))) {
    app.get('/app', { schema: { hide: true } }, notBuilt);
    app.get('/app/*', { schema: { hide: true } }, notBuilt);
    return;
  }
  await app.register(fastifyStatic, { root: folder, serve: false, etag: true, lastModified: false });
  const send = async (path: string, reply: FastifyReply): Promise<FastifyReply> => {
    protect(reply);
    if (path.startsWith('assets/')) return reply.sendFile(path, { maxAge: '1y', immutable: true });
    return reply.sendFile(isFile(path) ? path : page, { cacheControl: false });
  };
  const isFile = (path: string): boolean => /^[\w-]+\.\w+$/.test(path) && existsSync(join(folder, path));
  app.get('/app', { schema: { hide: true } }, async (_, reply) => send(page, reply));
  app.get('/app/*', { schema: { hide: true } }, async (request, reply) =>
    send((request.params as { '*': string })['*'], reply),
  );
}

function protect(reply: FastifyReply): void {
  void reply.headers({
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
    'Cache-Control': 'no-cache',
  });
}

async function notBuilt(): Promise<never> {
  throw fail('route.not_found', { message: 'The web app is not built. Build it with: npm run build' });
}
