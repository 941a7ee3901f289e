// The composition root: builds each room once and wires them. The only file that may import every room.
import { timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ensureAdminToken, signIns, tokens, tokenTools } from './auth/index.ts';
import { Catalog, catalogSearch, pageTokens } from './catalog/index.ts';
import { openConfig, settingsTools } from './config/index.ts';
import { logFeed, mcpDoor } from './doors/mcp/index.ts';
import { egressDoor, modelDoor } from './doors/model/index.ts';
import {
  bearerOf,
  blobRoutes,
  eventStreamRoutes,
  httpServer,
  restRoutes,
  workspaceDiffRoutes,
  workspaceFileRoutes,
  type Authenticate,
} from './doors/rest/index.ts';
import { relayDoor } from './doors/socket/index.ts';
import { cookieOf, signInUrl, webActor, webRoutes } from './doors/web/index.ts';
import { examineServer } from './doctor.ts';
import { openEngine } from './code/index.ts';
import { entryPoint, packageRoot, webAppFolder } from './entry.ts';
import { callGate, catalogGate, directory, exchange, lists, ToolViews, type Sources } from './gate/index.ts';
import { fail, functionName, newUuid, packName, type BuiltInBundle } from './schema/index.ts';
import {
  Database,
  homeKeys,
  openAsks,
  openBlobs,
  openEvents,
  openHome,
  openProjects,
  openSessions,
  redactor,
  replaceFile,
  sqliteResults,
  sqliteSecrets,
  sqliteSignIns,
  sqliteTokens,
} from './store/index.ts';
import { asks, eventLog, presence } from './log/index.ts';
import { auditTools, doctorTools, openObserver, statsTools } from './observe/index.ts';
import { projects, projectTools, workspaceTools } from './projects/index.ts';
import { openSandboxes } from './sandbox/index.ts';
import {
  callerTools,
  configTools,
  containerTools,
  imageTools,
  knownAgent,
  nodeIdentity,
  sessions,
  sessionTools,
  type BoxDoor,
  type SessionPorts,
} from './sessions/index.ts';
import {
  calcTools,
  clockTools,
  Compute,
  dataTools,
  demoTools,
  fsTools,
  functionSource,
  FunctionRegistry,
  textTools,
} from './sources/builtin/index.ts';
import { dialler, hostRules, httpSource, importTools, markdownMaker, previewTools, secretTools, webTools, type StoreTools } from './sources/http/index.ts';
import { openPacks } from './sources/packs/index.ts';
import { mcpServers, serverTools } from './sources/mcp/index.ts';
import { hiddenMenuTokens, otTools, tokenCounter, type FindTools } from './sources/ot/index.ts';
import { codeTools, keepValue, scriptSource } from './sources/script/index.ts';

export interface ServerOptions {
  home: string;
  port: number;
  host: string;
  logLevel?: string;
  packs?: boolean;
  /** Engine sockets instead of the usual places. */
  engines?: { docker?: string[]; podman?: string[] };
}

export interface RunningServer {
  url: string;
  mcpUrl: string;
  signInUrl: string;
  close(): Promise<void>;
}

const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };
const reapEveryMs = 3600_000;
const finishMs = 10_000;

/** Starts a server on one home and answers when it is ready; `close` lets running calls finish. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const closers: (() => Promise<void> | void)[] = [];
  try {
    return await build(options, closers);
  } catch (error) {
    await closeAll(closers);
    throw error;
  }
}

async function build(options: ServerOptions, closers: (() => Promise<void> | void)[]): Promise<RunningServer> {
  const home = await openHome(options.home);
  const db = new Database(home.stateDb);
  closers.push(() => db.close());
  const keyFor = await homeKeys(home.root);
  const config = await openConfig(home);
  closers.push(() => config.close());
  const settings = () => config.current();
  const observe = await openObserver({ home, db, config, key: keyFor('audit'), level: options.logLevel });
  closers.push(() => observe.close());
  config.onReport(({ ok, errors }) => {
    if (ok) observe.log.info({ span: 'config.reload', status: 'ok' }, 'the configuration is in order again');
    else observe.log.error({ span: 'config.reload', status: 'error', errors }, `the old settings keep serving: ${errors.join('; ')}`);
  });

  const tokenStore = await sqliteTokens(db);
  const adminToken = await ensureAdminToken(home.adminToken, tokenStore);
  const auth = tokens(tokenStore);
  const browsers = signIns(await sqliteSignIns(db), auth);
  const cookieName = `oubliette_${keyFor('web cookie').toString('hex', 0, 4)}`;

  const secrets = await sqliteSecrets(db, join(home.root, 'secret.key'));
  const hide = redactor(secrets);
  observe.setRedactor((line) => hide.text(line));
  const blobs = await openBlobs(db, home.blobs);
  const keepBlob = async (owner: string, bytes: Uint8Array, mime: string): Promise<{ blob_id: string; size: number }> => {
    const { id, size } = await blobs.put(owner, Readable.from([bytes]), { maxBytes: bytes.length, mime });
    return { blob_id: id, size };
  };
  const net = dialler({ settings });
  closers.push(() => net.close());
  const servers = await mcpServers({
    version,
    home: home.root,
    folder: join(home.run, 'servers'),
    log: observe.log,
    fillIn: (text) => secrets.fill(text),
    fetchFor: (url) => net.webFetch({ allow: [new URL(url).host] }),
    keepBlob,
    isShadowed: (slug) => catalog.clashes.includes(slug),
  });
  closers.push(() => servers.close());

  const sandboxes = openSandboxes({ folder: join(home.run, 'sandbox'), ...(options.engines && { sockets: options.engines }) });
  closers.push(() => sandboxes.close());
  const sessionTables = await openSessions(db);
  const projectTables = await openProjects(db);
  const askTables = await openAsks(db);
  const eventTables = await openEvents(db);
  const log = eventLog({ db, events: eventTables, redact: (value) => hide.value(value) });
  closers.push(() => log.close());
  const present = presence();
  const questions = asks({ log, tables: askTables, presence: present, reconnectGraceMs: () => settings().limits.reconnectGraceMs });
  // The server's own tools need an API key, even from inside: no project can grant them.
  const knownBundles = (): string[] =>
    catalog.bundles().flatMap(({ id, slug }) => (catalog.offer(id)?.offer.isOwn ? [] : [slug]));
  const places = projects({
    db,
    tables: projectTables,
    sessions: sessionTables,
    forgetSession: (_, sessionId) => {
      eventTables.remove(sessionId);
      askTables.remove(sessionId);
    },
    folder: home.projects,
    settings,
    sandboxes,
    knownBundles,
    fetch: (url, init, egress) => {
      const demandListed = ({ hostname, port, protocol }: URL): void => {
        const wanted = Number(port) || (protocol === 'https:' ? 443 : 80);
        if (!hostRules(egress).mayAsk(hostname, wanted)) throw fail('host.not_allowed', { message: `${hostname}:${wanted} is not in the egress list of this project.` });
      };
      return net.fetch(url, init, { allow: egress, onHop: demandListed });
    },
  });
  const boxDoors: BoxDoor[] = [];
  const sessionPorts: SessionPorts = {
    log,
    asks: questions,
    tables: sessionTables,
    projectTables,
    projects: places,
    drivers: sandboxes.drivers,
    tokens: auth,
    blobs,
    settings,
    secret: async (name) => (await secrets.get(name)).value,
    fill: (text) => secrets.fill(text),
    agent: (name) => knownAgent(settings(), name),
    doors: boxDoors,
    runFolder: home.run,
    logger: observe.log,
    node: nodeIdentity(),
  };
  const agentSessions = sessions(sessionPorts);
  boxDoors.push(
    modelDoor({ sessions: agentSessions, secret: sessionPorts.secret, dialler: net, log: observe.log }),
    egressDoor({ egressOf: async (projectId) => (await places.load(projectId))?.egress ?? [], log: observe.log }),
  );

  const compute = new Compute();
  closers.push(() => compute.close());
  const markdown = markdownMaker(entryPoint('sources/http/markdown-worker'));
  closers.push(() => markdown.close());
  const storeImported: StoreTools = async (actor, bundle, tools, conflict) => {
    const id = catalog.bundleBySlug(bundle.slug)?.id ?? newUuid();
    return (await bundlesAsFiles.take(actor, [{ bundle: { id, isEnabled: true, ...bundle }, tools }], conflict)).tools;
  };
  const builtIns: BuiltInBundle[] = [
    tokenTools(auth),
    settingsTools(config),
    demoTools(),
    textTools(compute),
    dataTools(compute),
    clockTools(),
    calcTools(),
    fsTools(async ({ actor }) => {
      const session = actor.sessionId === undefined ? undefined : await sessionTables.get(actor.sessionId);
      return session ? places.folderOf({ id: session.workspace_id, project_id: session.project_id }) : settings().fs.root;
    }),
    statsTools(observe, (actor) => hiddenMenuTokens({ directory: packs, countTokens }, actor)),
    auditTools(observe),
    secretTools(secrets),
    webTools({ dialler: net, markdown }),
    importTools({ dialler: net, secrets, store: storeImported }),
    serverTools({ servers, config }),
    projectTools({ projects: places, settings, sandboxes, knownBundles }),
    workspaceTools(places),
    sessionTools(agentSessions, sessionPorts),
    containerTools(agentSessions, sessionPorts),
    imageTools(sessionPorts, sandboxes),
    configTools(sessionPorts),
    callerTools(agentSessions),
    doctorTools({ examine: () => examineServer({ home: home.root, config, catalog, servers, sandboxes, packs: packFiles }) }),
  ];
  const functions = new FunctionRegistry().add(...builtIns);
  const packFiles =
    options.packs === false
      ? undefined
      : await openPacks({ folder: home.packs, hostPath: entryPoint('sources/packs/pack-host'), log: observe.log });
  if (packFiles) {
    functions.addFinder(packFiles);
    closers.push(() => packFiles.close());
  }
  const http = httpSource({ dialler: net, secrets, redactor: hide, keepBlob });
  const sources: Sources = { function: functionSource(functions), http, mcp: servers.source };
  const catalog = await Catalog.open({
    home,
    db,
    providers: [functions, ...(packFiles ? [packFiles] : []), servers],
    onCorrupt: (path, reason) => observe.log.warn({ span: 'catalog.corrupt', path, reason }, `${path}: ${reason}`),
  });
  closers.push(() => catalog.close());
  closers.push(config.onChange((now) => void servers.apply(now.servers)));
  await servers.apply(settings().servers);
  const search = catalogSearch(catalog, {
    path: home.indexDb,
    onProblem: (problem) => observe.log.warn({ span: 'catalog.search' }, problem),
  });
  closers.push(() => search.close());
  let isIndexed = false;
  void search.ready().then(() => (isIndexed = true));
  const views = new ToolViews(catalog, sources, observe);
  const results = await sqliteResults(db, home.results);
  closers.push(() => results.close());
  const gate = callGate({
    catalog,
    views,
    observe,
    settings,
    redact: hide,
    keepLarge: (actor, value) => keepValue({ results, settings }, actor, value),
  });

  const engine = openEngine({
    childPath: entryPoint('code/child'),
    limits: () => settings().code,
    ...(settings().code.children !== undefined && { children: settings().code.children }),
  });
  closers.push(() => engine.close());
  const packs = directory(catalog, views);
  const countTokens = tokenCounter(entryPoint('sources/ot/token-worker'));
  const codeMode = { engine, directory: packs, settings, results };
  sources.script = scriptSource(codeMode);
  const findTools: FindTools = async (actor, text, limit) => {
    const hits = await search.rank(text, { limit, ...(actor.bundles && { bundles: actor.bundles }) });
    return hits.flatMap(({ id, score }) => {
      const summary = catalog.byId(id);
      const bundle = summary && catalog.bundle(summary.bundleID);
      return bundle ? [{ pack: packName(bundle.slug), fn: functionName(summary.slug), score }] : [];
    });
  };
  functions.add(
    previewTools({ http, resolve: (actor, ref) => gate.resolve(actor, ref) }),
    codeTools(codeMode),
    otTools({
      ...codeMode,
      find: findTools,
      version,
      servers: (waitMs) => servers.status(waitMs),
      clashes: () => catalog.clashes,
      notesFolder: home.notes,
      reportsFolder: home.reports,
      countTokens,
      observe,
      reload: () => config.reload(),
    }),
  );

  boxDoors.push(
    relayDoor({
      gate,
      tokens: auth,
      sessions: agentSessions,
      asks: questions,
      workspaceOf: async (id) => (await sessionTables.get(id))!.workspace_id,
      reconnectGraceMs: () => settings().limits.reconnectGraceMs,
    }),
  );

  const reaping = setInterval(() => void catalog.writer.reap().catch(() => {}), reapEveryMs);
  reaping.unref();
  closers.push(() => clearInterval(reaping));
  await catalog.writer.reap();

  // Whoever can read the home is on this machine: the command line, which may change what runs here.
  const cliProof = keyFor('cli').toString('hex');
  await replaceFile(join(home.run, 'cli.proof'), cliProof);
  const isCli = ({ headers }: Parameters<Authenticate>[0]): boolean => isSame(headers['x-oubliette-cli'], cliProof);
  const authenticate: Authenticate = (request) => {
    const bearer = bearerOf(request);
    const cookie = bearer === undefined ? cookieOf(request, cookieName) : undefined;
    return cookie ? webActor(request, cookie, browsers) : auth.authenticate(bearer, isCli(request) ? 'cli' : 'rest');
  };
  const app = await httpServer({ settings, version, log: observe.log, redact: (text) => hide.text(text) });
  const changes = catalogGate(catalog, views, sources);
  const bundlesAsFiles = exchange(catalog, changes);
  restRoutes(app, {
    authenticate,
    gate,
    catalogGate: changes,
    exchange: bundlesAsFiles,
    lists: lists(catalog, views, pageTokens(keyFor('page tokens')), (text, options) => search.query(text, options)),
    observe,
    notReadyBecause: () => (isIndexed ? [] : ['the search index is being built']),
  });
  eventStreamRoutes(app, { authenticate, sessions: agentSessions, log, asks: questions, presence: present, tokens: auth });
  workspaceFileRoutes(app, authenticate, places);
  workspaceDiffRoutes(app, authenticate, places);
  blobRoutes(app, authenticate, blobs);
  let url = '';
  await webRoutes(app, {
    authenticate,
    signIns: browsers,
    tokens: auth,
    cookieName,
    folder: webAppFolder(),
    version,
    publicUrl: () => url,
    topics: { catalog: (listener) => catalog.onChange(listener), sessions: (listener) => agentSessions.onStatus(listener) },
  });
  const ownBundles = new Set(builtIns.flatMap((each) => (each.isOwn ? [each.slug] : [])));
  await mcpDoor(app, {
    gate,
    authenticate: (request) => auth.authenticate(bearerOf(request), 'mcp'),
    servers,
    ownBundles,
    version,
    log: observe.log,
    feed: logFeed({ sessions: agentSessions, log, presence: present }),
  });
  await places.tidy();
  await agentSessions.start();
  closers.push(() => agentSessions.stop());
  closers.push(async () => {
    // Running calls may finish, within reason.
    const force = setTimeout(() => app.server.closeAllConnections(), finishMs);
    await app.close().finally(() => clearTimeout(force));
  });
  // Before the streams: that we stop is no disconnect of any caller.
  closers.push(() => questions.close());
  await app.listen({ port: options.port, host: options.host });

  const { port } = app.server.address() as { port: number };
  const shownHost = options.host === '0.0.0.0' || options.host === '::' ? '127.0.0.1' : options.host;
  url = settings().http.publicUrl ?? `http://${shownHost.includes(':') ? `[${shownHost}]` : shownHost}:${port}`;
  const mcpUrl = `${url}/mcp/run`;
  await replaceFile(
    home.serverInfo,
    `${JSON.stringify({ pid: process.pid, port, url, mcpUrl, version, startedAt: new Date().toISOString() })}\n`,
  );
  closers.push(() => rm(home.serverInfo, { force: true }));
  const code = await browsers.code(await auth.authenticate(adminToken, 'web'));
  return { url, mcpUrl, signInUrl: signInUrl(url, code), close: () => closeAll(closers) };
}

function isSame(given: string | string[] | undefined, wanted: string): boolean {
  const bytes = Buffer.from(typeof given === 'string' ? given : '');
  return bytes.length === wanted.length && timingSafeEqual(bytes, Buffer.from(wanted));
}

/** Last opened, first closed; one that fails does not keep the others open. */
async function closeAll(closers: (() => Promise<void> | void)[]): Promise<void> {
  for (const close of closers.splice(0).reverse()) await Promise.resolve(close()).catch(() => {});
}
