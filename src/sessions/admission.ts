import type { LogTransaction } from '../log/index.ts';
import { fail, newId, type Actor } from '../schema/index.ts';
import type { KeyGrant, MessageRow, SessionRow } from '../store/index.ts';
import { demandRoom, demandRoot } from './limits.ts';
import type { Extras, MessageArgs } from './message-extras.ts';
import type { Target } from './message-target.ts';
import type { SessionPorts } from './ports.ts';

const maxQueued = 20;

export interface MessageAnswer {
  session_id: string;
  workspace_id: string;
  spawned: boolean;
  turn: number;
  last_event_index: number;
}

export const isLive = (row: SessionRow): boolean =>
  row.status === 'starting' || row.status === 'running' || row.status === 'idle';

export interface NewSession extends Extras {
  id: string;
  agent: string;
  model: string | null;
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
  more: Extras & { node: string },
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
