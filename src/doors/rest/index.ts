// REST: translates HTTP to the gate and back; knows no policy. May import: schema, gate, auth, observe, log, sessions, projects.
import type { FastifyInstance } from 'fastify';
import type { Observer } from '../../observe/index.ts';
import type { BodyRoom } from './body-room.ts';
import { bundleRoutes } from './bundles.ts';
import { exchangeRoutes } from './exchange.ts';
import type { Exchange } from '../../gate/index.ts';
import { plainCalls, type PlainCallDeps } from './plain-calls.ts';
import { plainTools } from './plain-tools.ts';
import { statusRoutes } from './status.ts';
import { toolRoutes, type ToolRouteDeps } from './tools.ts';

export { BodyRoom } from './body-room.ts';
export { blobRoutes } from './blobs.ts';
export { eventStreamRoutes } from './event-stream.ts';
export { isOrdinary } from './origin.ts';
export { plainPosts } from './plain-posts.ts';
export { bearerOf, type Authenticate } from './resource.ts';
export { workspaceDiffRoutes, workspaceFileRoutes } from './workspace-files.ts';
export { httpServer } from './server.ts';

export interface RestDeps extends ToolRouteDeps, Omit<PlainCallDeps, 'log'> {
  exchange: Exchange;
  room: BodyRoom;
  observe: Observer;
  notReadyBecause: () => string[];
}

/** Every route of the tools API. */
export function restRoutes(app: FastifyInstance, deps: RestDeps): void {
  statusRoutes(app, deps.authenticate, deps.observe, deps.notReadyBecause);
  bundleRoutes(app, deps.authenticate, deps.catalogGate, deps.lists);
  toolRoutes(app, deps);
  exchangeRoutes(app, deps.authenticate, deps.exchange, deps.room);
  plainCalls({ ...deps, log: deps.observe.log });
  plainTools({ ...deps, log: deps.observe.log });
}
