// The composition root: builds each room once and wires them. It and its folder are the only place that may import every room.
import { relayDoor } from './doors/socket/index.ts';
import { signInUrl } from './doors/web/index.ts';
import { openAgents } from './main/agents.ts';
import { announce } from './main/announce.ts';
import { closeAll, type Closers } from './main/closers.ts';
import { finishConnections } from './main/finish-connections.ts';
import { openDoors } from './main/doors.ts';
import { openGround, version, type ServerOptions } from './main/ground.ts';
import { keepRetention } from './main/retention.ts';
import { openTools, type Tools } from './main/tools.ts';
import { markHome } from './store/index.ts';

/** To whom the files of agents belong. */
export { sandboxUser } from './sandbox/index.ts';

export type { ServerOptions } from './main/ground.ts';

export interface RunningServer {
  url: string;
  mcpUrl: string;
  signInUrl: string;
  close(): Promise<void>;
}

const finishMs = 10_000;

/** Starts a server on one home and answers when it is ready; `close` lets running calls finish. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const closers: Closers = [];
  try {
    return await build(options, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function build(options: ServerOptions, closers: Closers): Promise<RunningServer> {
  const startedAt = performance.now();
  const ground = await openGround(options, closers);
  const { home, settings, auth, browsers, adminToken } = ground;
  // The server's own tools need an API key, even from inside: no project can grant them.
  const knownBundles = (): string[] =>
    tools.catalog.bundles().flatMap(({ id, slug }) => (tools.catalog.offer(id)?.offer.isOwn ? [] : [slug]));
  const agents = await openAgents(ground, knownBundles, options, closers);
  const tools: Tools = await openTools(ground, agents, knownBundles, options, closers);
  // All tables are as this version wants them.
  await markHome(ground.db, version);
  agents.boxDoors.push(
    relayDoor({
      gate: tools.gate,
      tokens: auth,
      sessions: agents.agentSessions,
      asks: agents.questions,
      workspaceOf: async (id) => (await agents.sessionTables.peek(id))!.workspace_id,
      reconnectGraceMs: () => settings().limits.reconnectGraceMs,
    }),
  );
  let url = '';
  const app = await openDoors(ground, agents, tools, () => url);
  await agents.places.tidy().catch((error: unknown) => {
    ground.observe.log.warn({ span: 'project.tidy', err: error }, 'something deleted could not be removed from disk');
  });
  await agents.agentSessions.start();
  closers.push(() => agents.agentSessions.stop());
  const finish = finishConnections(app.server);
  // Running calls may finish, within reason.
  closers.push(() => finish(finishMs, () => app.close()));
  // Before the streams: that we stop is no disconnect of any caller.
  closers.push(() => agents.questions.close());
  await app.listen({ port: options.port, host: options.host });

  const { port } = app.server.address() as { port: number };
  const shownHost = options.host === '0.0.0.0' || options.host === '::' ? '127.0.0.1' : options.host;
  url = settings().http.publicUrl ?? `http://${shownHost.includes(':') ? `[${shownHost}]` : shownHost}:${port}`;
  const mcpUrl = `${url}/mcp/run`;
  const info = { pid: process.pid, port, url, mcpUrl, version, startedAt: new Date().toISOString() };
  closers.push(await announce(home.serverInfo, info));
  tools.servers.connect();
  const { log } = ground.observe;
  closers.push(keepRetention(tools.gate, settings, log));
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ span: 'server.start', status: 'ok', durationMs, url, version }, `ready at ${url}`);
  closers.push(() => log.info({ span: 'server.stop', status: 'ok', url }, 'stopping'));
  // What fails behind everyone's back is told, and ends nothing else.
  const unheard = (reason: unknown): void =>
    log.error({ span: 'server.background', status: 'error', err: reason }, 'something failed that nobody waited for');
  process.on('unhandledRejection', unheard);
  closers.push(() => void process.off('unhandledRejection', unheard));
  // First of all: the next server may want the port.
  closers.push(() => void app.server.close());
  const code = await browsers.code(auth.authenticate(adminToken, 'web'));
  return { url, mcpUrl, signInUrl: signInUrl(url, code), close: () => closeAll(closers) };
}
