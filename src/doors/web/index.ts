// The web app's door: its files, signing in, and one stream of changes. May import: schema, auth.
import type { FastifyInstance } from 'fastify';
import { changeStream } from './change-stream.ts';
import type { WebDeps } from './deps.ts';
import { signInRoutes } from './sign-in-routes.ts';
import { staticFiles } from './static-files.ts';

export { cookieOf, webActor } from './cookie.ts';
export type { WebDeps } from './deps.ts';
export { signInUrl } from './sign-in-routes.ts';

/** Everything under /app and /auth, and GET /events. */
export async function webRoutes(app: FastifyInstance, deps: WebDeps): Promise<void> {
  await staticFiles(app, deps.folder);
  signInRoutes(app, deps);
  changeStream(app, deps);
}
