import { join } from 'node:path';
import { tokenTools } from '../auth/index.ts';
import { Catalog, catalogSearch, openSearchIndex } from '../catalog/index.ts';
import { nearest, openEngine } from '../code/index.ts';
import { settingsTools } from '../config/index.ts';
import { examineServer } from '../doctor.ts';
import { entryPoint } from '../entry.ts';
import {
  callGate,
  catalogGate,
  directory,
  exchange,
  recordedChanges,
  recordedExchange,
  type Sources,
  ToolViews,
} from '../gate/index.ts';
import { auditTools, doctorTools, statsTools } from '../observe/index.ts';
import { projectTools, workspaceTools } from '../projects/index.ts';
import { type BuiltInBundle, cameIn, functionName, newUuid, packName, stayAwake } from '../schema/index.ts';
import { callerTools, configTools, containerTools, imageTools, sessionTools } from '../sessions/index.ts';
import {
  calcTools,
  clockTools,
  Compute,
  dataTools,
  demoTools,
  fsTools,
  FunctionRegistry,
  functionSource,
  textTools,
} from '../sources/builtin/index.ts';
import {
  httpSource,
  importTools,
  markdownMaker,
  openApiReader,
  previewTools,
  secretTools,
  type StoreTools,
  webTools,
} from '../sources/http/index.ts';
import { mcpServers, serverTools, wayOut } from '../sources/mcp/index.ts';
import { type FindTools, hiddenMenuTokens, otTools, tokenCounter } from '../sources/ot/index.ts';
import { openPacks } from '../sources/packs/index.ts';
import { codeTools, keepValue, scriptSource } from '../sources/script/index.ts';
import { sqliteResults } from '../store/index.ts';
import type { Agents } from './agents.ts';
import type { Closers } from './closers.ts';
import { version, type Ground, type ServerOptions } from './ground.ts';
import { giveBackMemory } from './give-back-memory.ts';
import { keepTickShape } from './keep-tick-shape.ts';

const reapEveryMs = 3600_000;

export type Tools = Awaited<ReturnType<typeof openTools>>;

/** What can be called: every source, the catalog over them, the gate before them. */
export async function openTools(
  ground: Ground,
  agents: Agents,
  knownBundles: () => string[],
  options: ServerOptions,
  closers: Closers,
) {
  const { home, db, config, settings, pages, observe, auth, secrets, hide, keepBlob, net } = ground;
  const { sandboxes, sessionTables, places, sessionPorts, agentSessions } = agents;
  const servers = await mcpServers({
    version,
    home: home.root,
    folder: join(home.run, 'servers'),
    log: observe.log,
    ...wayOut({ dialler: net, secrets, redactor: hide }),
    keepBlob,
    isShadowed: (slug) => catalog.clashes.includes(slug),
  });
  closers.push(() => servers.close());

  const compute = new Compute();
  closers.push(() => compute.close());
  const markdown = markdownMaker(entryPoint('sources/http/markdown-worker'));
  closers.push(() => markdown.close());
  const storeImported: StoreTools = async (actor, bundle, tools, conflict) => {
    const id = catalog.bundleBySlug(bundle.slug)?.id ?? newUuid();
    return (await bundlesAsFiles.take(actor, [{ bundle: { id, isEnabled: true, ...bundle }, tools }], conflict)).tools;
  };
  const builtIns: BuiltInBundle[] = [
    tokenTools(auth, pages, {
      isThere: async (slug) => (await catalog.find(() => catalog.bundleBySlug(slug))) !== undefined,
      slugs: () => catalog.bundles().map(({ slug }) => slug),
      nearest,
    }),
    settingsTools(config),
    demoTools(),
    textTools(compute),
    dataTools(compute),
    clockTools(),
    calcTools(),
    fsTools(async ({ actor }) => {
      const session = actor.sessionId === undefined ? undefined : await sessionTables.get(actor.sessionId);
      return session
        ? places.folderOf({ id: session.workspace_id, project_id: session.project_id })
        : settings().fs.root;
    }),
    statsTools(observe, (actor) => hiddenMenuTokens({ directory: packs, countTokens }, actor)),
    auditTools(observe, pages),
    secretTools(secrets),
    webTools({ dialler: net, markdown }),
    importTools({
      dialler: net,
      secrets,
      store: storeImported,
      readOpenApi: openApiReader(entryPoint('sources/http/openapi-worker')),
    }),
    serverTools({ servers, config }),
    projectTools({ projects: places, settings, sandboxes, knownBundles }),
    workspaceTools(places),
    sessionTools(agentSessions, sessionPorts, pages),
    containerTools(agentSessions, sessionPorts),
    imageTools(sessionPorts, sandboxes),
    configTools(sessionPorts),
    callerTools(agentSessions),
    doctorTools({
      examine: () => examineServer({ home: home.root, config, catalog, servers, sandboxes, packs: packFiles }),
    }),
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
  const onIndexProblem = (problem: string): void => observe.log.warn({ span: 'catalog.search' }, problem);
  // It reads its file while the catalog reads its own.
  const index = openSearchIndex({ path: home.indexDb, onProblem: onIndexProblem });
  closers.push(() => index.close());
  const catalog = await Catalog.open({
    home,
    db,
    providers: [functions, ...(packFiles ? [packFiles] : []), servers],
    onCorrupt: (path, reason) => observe.log.warn({ span: 'catalog.corrupt', path, reason }, `${path}: ${reason}`),
    onTrouble: (error) =>
      observe.log.warn(
        { span: 'catalog.background', err: error },
        'something of the catalog failed that nobody waited for',
      ),
  });
  closers.push(() => catalog.close());
  closers.push(config.onChange((now) => void servers.apply(now.servers)));
  await servers.apply(settings().servers);
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
    demandToken: (tokenId, { door }) => auth.actorOf(tokenId, door),
  });

  const engine = openEngine({
    childPath: entryPoint('code/child'),
    limits: () => settings().code,
    ...(settings().code.children !== undefined && { children: settings().code.children }),
    onAsked: stayAwake,
    onAnswered: cameIn,
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
      packProblems: () => packFiles?.problems() ?? [],
      notesFolder: home.notes,
      reportsFolder: home.reports,
      countTokens,
      matchLines: (search, lines, signal) => compute.run('ot.result', { search, lines }, signal),
      observe,
      reload: () => config.reload(),
    }),
  );
  // Only now is everything offered; an index compared with less would be rebuilt at every start.
  const search = catalogSearch(catalog, index, onIndexProblem);
  closers.push(() => search.close());
  let isIndexed = false;
  void search.ready().then(() => (isIndexed = true));
  keepTickShape();
  void search.synced().then(giveBackMemory);

  const unrecorded = catalogGate(catalog, views, sources);
  const changes = recordedChanges(unrecorded, observe);
  const bundlesAsFiles = recordedExchange(exchange(catalog, unrecorded), observe);
  const reap = async (): Promise<void> => {
    await catalog.writer.reap();
    await observe.forgetGone((toolId) => catalog.byId(toolId) !== undefined);
  };
  const reaping = setInterval(() => void reap().catch(() => {}), reapEveryMs);
  reaping.unref();
  closers.push(() => clearInterval(reaping));
  await catalog.writer.reap();

  const ownBundles = new Set(builtIns.flatMap((each) => (each.isOwn ? [each.slug] : [])));
  return { servers, catalog, search, views, gate, changes, bundlesAsFiles, ownBundles, isIndexed: () => isIndexed };
}
