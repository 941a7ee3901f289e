import type { Project } from '../projects/index.ts';
import type { LogTransaction } from '../log/index.ts';
import { fail, newId, reaches, type Actor, type CallerDeclaration, type Level } from '../schema/index.ts';
import type { KeyGrant, MessageRow, SessionRow, WorkspaceRow } from '../store/index.ts';
import { declarationOf, type CallerArgs } from './caller-declaration.ts';
import { demandRoom, demandRoot, treeLimits, type TreeLimits } from './limits.ts';
import type { SessionPorts } from './ports.ts';
import { owned } from './reach.ts';

const maxQueued = 20;
/** In bytes, as file systems count. */
const longestFileName = 255;

/** What `session_message` and `session_spawn` take. */
export interface MessageArgs extends CallerArgs {
  project_id?: string;
  session_id?: string;
  message: string;
  workspace_id?: string;
  create_workspace?: boolean;
  external_id?: string;
  source?: string;
  agent?: string;
  model?: string;
  attachments?: { blob_id: string; name: string }[];
  grant?: { scope?: Level; bundles?: string[]; projects?: string[] };
  permissions?: 'auto' | 'deny' | 'ask';
  idempotency_key?: string;
  context?: CallerArgs;
}

export interface MessageAnswer {
  session_id: string;
  workspace_id: string;
  spawned: boolean;
  turn: number;
  last_event_index: number;
}

/** Where a message goes: a session that is there (live or to be resumed), or a new one. */
export interface Target {
  project: Project;
  workspace: { id: string; project_id: string };
  session?: SessionRow;
  parent?: SessionRow;
  limits: TreeLimits;
}

/** Finds the target; everything that can be refused without a transaction is refused here. */
export async function findTarget(
  ports: SessionPorts,
  actor: Actor,
  args: MessageArgs,
  isSpawn: boolean,
): Promise<Target> {
  if (args.session_id !== undefined && !isSpawn) {
    const session = await owned(ports, actor, args.session_id, 'send messages to it');
    if (args.project_id !== undefined && args.project_id !== session.project_id)
      throw fail('session.not_found', { ref: args.session_id });
    if (args.agent !== undefined && args.agent !== session.agent) {
      ports.agent(args.agent);
      throw fail('session.state', {
        ref: session.id,
        status: session.status,
        action: `going on with another agent than ${session.agent} (use session_spawn)`,
      });
    }
    return {
      ...(await around(ports, session.project_id, session.root_id)),
      session,
      workspace: { id: session.workspace_id, project_id: session.project_id },
    };
  }
  if (args.project_id === undefined) throw fail('request.invalid', { reason: 'project_id or session_id is needed' });
  const project =
    actor.kind === 'session'
      ? await ownProject(ports, actor, args.project_id)
      : await ports.projects.get(actor, args.project_id);
  const parent = actor.sessionId === undefined ? undefined : await ports.tables.get(actor.sessionId);
  const workspace = await findWorkspace(ports, actor, project, args);
  const found = isSpawn
    ? undefined
    : await ports.tables.latest({
        workspace_id: workspace.id,
        owner: actor.principal,
        parent_id: parent?.id ?? null,
        ...(args.agent !== undefined && { agent: args.agent }),
      });
  const root = parent && (await ports.projects.load((await ports.tables.get(parent.root_id))?.project_id ?? ''));
  return {
    project,
    workspace,
    ...(found && { session: found }),
    ...(parent && { parent }),
    limits: treeLimits(root, project),
  };
}

async function around(
  ports: SessionPorts,
  projectId: string,
  rootId: string,
): Promise<{ project: Project; limits: TreeLimits }> {
  const project = await ports.projects.load(projectId);
  if (!project) throw fail('project.not_found', { ref: projectId });
  const root = await ports.tables.get(rootId);
  return { project, limits: treeLimits(root && (await ports.projects.load(root.project_id)), project) };
}

async function ownProject(ports: SessionPorts, actor: Actor, projectId: string): Promise<Project> {
  const project = projectId === actor.projectId ? await ports.projects.load(projectId) : undefined;
  if (!project) throw fail('project.not_found', { ref: projectId });
  return project;
}

async function findWorkspace(
  ports: SessionPorts,
  actor: Actor,
  project: Project,
  args: MessageArgs,
): Promise<WorkspaceRow | { id: string; project_id: string }> {
  if (args.workspace_id !== undefined) {
    const row = await ports.projectTables.workspace(args.workspace_id);
    if (row?.project_id !== project.id) throw fail('workspace.not_found', { ref: args.workspace_id });
    return row;
  }
  const more = {
    ...(args.external_id !== undefined && { external_id: args.external_id }),
    ...(args.source !== undefined && { source: args.source }),
  };
  if (args.external_id !== undefined && !args.create_workspace) {
    const row = await ports.projects.findWorkspace(project.id, args.external_id, args.source);
    if (!row) throw fail('workspace.not_found', { ref: `${args.external_id} (create_workspace: true makes one)` });
    return row;
  }
  if (args.create_workspace) return ports.projects.createWorkspace(actor, project.id, more);
  return { id: project.default_workspace_id, project_id: project.id };
}

export const isLive = (row: SessionRow): boolean =>
  row.status === 'starting' || row.status === 'running' || row.status === 'idle';

/** Checks attachments, caller declaration and grant of a message. */
export async function admitExtras(
  ports: SessionPorts,
  actor: Actor,
  args: MessageArgs,
  project: Project,
): Promise<{ caller?: CallerDeclaration; grant?: KeyGrant }> {
  for (const { blob_id, name } of args.attachments ?? []) {
    const blob = await ports.blobs.get(blob_id);
    if (!blob || (blob.owner !== actor.principal && !reaches(actor.level, 'admin')))
      throw fail('blob.not_found', { ref: blob_id });
    if (name === '.' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > longestFileName)
      throw fail('request.invalid', { reason: `${JSON.stringify(name)} is no file name for an attachment` });
  }
  const caller = declarationOf(args, args.context, ports.settings().limits.callerTimeoutMs);
  const grant = args.grant && {
    scope: args.grant.scope ?? 'read',
    ...(args.grant.bundles && { bundles: args.grant.bundles }),
    projects: args.grant.projects ?? [project.id],
    asker: actor,
  };
  if (grant && !reaches(actor.level, grant.scope))
    throw fail('scope.denied', { tool: `a grant of scope ${grant.scope}`, need: grant.scope, have: actor.level });
  for (const id of grant?.projects ?? [])
    if (id !== project.id || actor.kind !== 'session') await ports.projects.get(actor, id);
  return { ...(caller && { caller }), ...(grant && { grant }) };
}

export interface NewSession {
  id: string;
  agent: string;
  model: string | null;
  caller?: CallerDeclaration;
  grant?: KeyGrant;
  /** A claimed slot of the warm pool. */
  warm?: Partial<SessionRow>;
  node: string;
}

/** Stores a new session with its first message; only inside a transaction. */
export function storeSpawn(
  ports: SessionPorts,
  tx: LogTransaction,
  actor: Actor,
  target: Target,
  args: MessageArgs,
  more: NewSession,
): MessageAnswer {
  demandAsker(ports, actor);
  demandProject(ports, target);
  demandRoom(ports, target.project, target.parent, target.limits);
  const now = new Date().toISOString();
  const { parent } = target;
  const row: SessionRow = {
    id: more.id,
    project_id: target.project.id,
    workspace_id: target.workspace.id,
    parent_id: parent?.id ?? null,
    root_id: parent?.root_id ?? more.id,
    depth: parent ? parent.depth + 1 : 0,
    status: 'starting',
    agent: more.agent,
    model: more.model,
    owner: actor.principal,
    turn: 1,
    last_turn: 1,
    permissions: args.permissions ?? 'auto',
    caller: more.caller ?? null,
    place: null,
    box: null,
    key_grant: more.grant ?? null,
    spool_offset: 0,
    agent_state: null,
    error: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    reserved_usd: 0,
    node: more.node,
    wanted: null,
    created_at: now,
    updated_at: now,
    ...more.warm,
  };
  ports.tables.insert(row);
  ports.tables.insertMessage(messageRow(row.id, 1, args));
  ports.projectTables.touchWorkspace(target.workspace.id, now);
  tx.append(row.id, 1, { type: 'status', status: 'starting' });
  if (parent) tx.append(parent.id, parent.turn, { type: 'child', child_session_id: row.id, status: 'starting' });
  return { session_id: row.id, workspace_id: row.workspace_id, spawned: true, turn: 1, last_event_index: -1 };
}

/** Queues a message for a session that is there; one that is over starts again. Only inside a transaction. */
export function storeMessage(
  ports: SessionPorts,
  tx: LogTransaction,
  actor: Actor,
  target: Target,
  args: MessageArgs,
  more: { caller?: CallerDeclaration; grant?: KeyGrant; node: string },
): MessageAnswer & { resumed: boolean } {
  const row = ports.tables.getNow(target.session!.id);
  if (!row) throw fail('session.not_found', { ref: target.session!.id });
  demandAsker(ports, actor);
  demandProject(ports, target);
  const resumed = !isLive(row);
  if (resumed && !row.parent_id) demandRoot(ports, target.project);
  const waiting = ports.tables.messagesNow(row.id, 'queued').length;
  if (waiting >= maxQueued) throw fail('session.busy', { ref: row.id, count: waiting });
  const turn = row.last_turn + 1;
  const newest = tx.newest(row.id);
  ports.tables.insertMessage(messageRow(row.id, turn, args));
  const patch: Partial<SessionRow> = { last_turn: turn };
  if (more.caller) patch.caller = more.caller;
  const change = resumed ? undefined : unlikeRunning(row, args, more.grant);
  if (change)
    throw fail('session.state', {
      ref: row.id,
      status: row.status,
      action: `${change} (end it first, or use session_spawn)`,
    });
  if (resumed) {
    if (more.grant) patch.key_grant = more.grant;
    if (args.model !== undefined) patch.model = args.model;
    if (args.permissions !== undefined) patch.permissions = args.permissions;
    Object.assign(patch, { status: 'starting', error: null, node: more.node, wanted: null, turn });
    tx.append(row.id, turn, { type: 'status', status: 'starting', reason: 'resumed' });
    if (row.parent_id)
      tx.append(row.parent_id, ports.tables.getNow(row.parent_id)?.turn ?? 1, {
        type: 'child',
        child_session_id: row.id,
        status: 'starting',
      });
  }
  ports.tables.update(row.id, patch);
  return {
    session_id: row.id,
    workspace_id: row.workspace_id,
    spawned: false,
    turn,
    last_event_index: newest,
    resumed,
  };
}

/** What an agent is started with holds until it ends; a wish for something else must not be passed over in silence. */
function unlikeRunning(row: SessionRow, args: MessageArgs, grant: KeyGrant | undefined): string | undefined {
  if (args.model !== undefined && args.model !== row.model) return 'another model for an agent that runs already';
  if (args.permissions !== undefined && args.permissions !== row.permissions)
    return `permissions "${args.permissions}" for an agent that was started with "${row.permissions}"`;
  if (grant && !row.key_grant) return 'granting a key to an agent that runs already';
  if (grant && reachOf(grant) !== reachOf(row.key_grant!))
    return 'another grant than the one that the agent was started with';
  return undefined;
}

const reachOf = ({ scope, bundles, projects }: KeyGrant): string =>
  JSON.stringify([scope, bundles?.toSorted() ?? null, projects.toSorted()]);

/** What a session asked for while it was being ended comes too late: nobody would end what it starts. */
function demandAsker(ports: SessionPorts, { sessionId }: Actor): void {
  const row = sessionId === undefined ? undefined : ports.tables.getNow(sessionId);
  if (row && !isLive(row))
    throw fail('session.state', { ref: row.id, status: row.status, action: 'sending messages to its children' });
}

function demandProject(ports: SessionPorts, target: Target): void {
  if (ports.projectTables.getNow(target.project.id)?.status !== 'active')
    throw fail('project.not_found', { ref: target.project.id });
  if (!ports.projectTables.workspaceNow(target.workspace.id))
    throw fail('workspace.not_found', { ref: target.workspace.id });
}

function messageRow(sessionId: string, turn: number, args: MessageArgs): MessageRow {
  return {
    id: newId('msg'),
    session_id: sessionId,
    turn,
    text: args.message.toWellFormed(),
    attachments: args.attachments ?? [],
    state: 'queued',
  };
}
