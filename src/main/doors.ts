import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { isSameSecret } from '../auth/index.ts';
import { logFeed, mcpDoor } from '../doors/mcp/index.ts';
import {
  type Authenticate,
  bearerOf,
  blobRoutes,
  eventStreamRoutes,
  httpServer,
  isOrdinary,
  plainPosts,
  restRoutes,
  workspaceDiffRoutes,
  workspaceFileRoutes,
} from '../doors/rest/index.ts';
import { cookieOf, webActor, webRoutes } from '../doors/web/index.ts';
import { webAppFolder } from '../entry.ts';
import { lists } from '../gate/index.ts';
import type { Actor } from '../schema/index.ts';
import { replaceFile } from '../store/index.ts';
import type { Agents } from './agents.ts';
import { version, type Ground } from './ground.ts';
import type { Tools } from './tools.ts';

type Asking = { headers: IncomingHttpHeaders; socket?: object };

/** The ways in over HTTP. `publicUrl` is known once the server listens. */
export async function openDoors(ground: Ground, agents: Agents, tools: Tools, publicUrl: () => string) {
  const { home, keyFor, pages, settings, observe, auth, browsers, hide, blobs } = ground;
  const { log, present, questions, places, agentSessions, room } = agents;
  const { servers, catalog, search, views, gate, changes, bundlesAsFiles, ownBundles, isIndexed } = tools;
  const cookieName = `oubliette_${keyFor('web cookie').toString('hex', 0, 4)}`;

  // Only somebody on this machine can read the home: the command line, which may change what runs here.
  const cliProof = Buffer.from(keyFor('cli').toString('hex'));
  await replaceFile(join(home.run, 'cli.proof'), cliProof);
  const byToken = (request: Asking): Actor => {
    const proof = request.headers['x-oubliette-cli'];
    const door = typeof proof === 'string' && isSameSecret(proof, cliProof) ? 'cli' : 'rest';
    return auth.authenticate(bearerOf(request), door, request.socket);
  };
  const authenticate: Authenticate = async (request) => {
    const cookie = bearerOf(request) === undefined ? cookieOf(request, cookieName) : undefined;
    return cookie ? webActor(request, cookie, browsers) : byToken(request);
  };
  const redact = (text: string): string => hide.text(text);
  const sink = { log: observe.log, redact };
  const app = await httpServer({ settings, version, room, ...sink });
  const maxBodyBytes = (): number => settings().http.maxBodyBytes;
  const posts = plainPosts(app, (request) => isOrdinary(request, settings().http), room, maxBodyBytes, sink);
  restRoutes(app, {
    authenticate,
    byToken,
    posts,
    redact,
    gate,
    catalogGate: changes,
    exchange: bundlesAsFiles,
    room,
    lists: lists(catalog, views, pages, (text, options) => search.query(text, options)),
    observe,
    notReadyBecause: () => (isIndexed() ? [] : ['the search index is being built']),
  });
  eventStreamRoutes(app, {
    authenticate,
    sessions: agentSessions,
    log,
    asks: questions,
    presence: present,
    tokens: auth,
  });
  workspaceFileRoutes(app, authenticate, places);
  workspaceDiffRoutes(app, authenticate, places);
  blobRoutes(app, authenticate, blobs);
  await webRoutes(app, {
    authenticate,
    signIns: browsers,
    tokens: auth,
    cookieName,
    folder: webAppFolder(),
    version,
    publicUrl,
    topics: {
      catalog: (listener) => catalog.onChange(listener),
      sessions: (listener) => agentSessions.onStatus(listener),
    },
  });
  await mcpDoor(app, {
    gate,
    authenticate: (request) => auth.authenticate(bearerOf(request), 'mcp', request.socket),
    posts,
    readBody: (request) => room.read(request, maxBodyBytes()),
    servers,
    ownBundles,
    version,
    log: observe.log,
    feed: logFeed({ sessions: agentSessions, log, presence: present }),
  });
  return app;
}
