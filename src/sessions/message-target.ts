import type { Project } from '../projects/index.ts';
import { fail, type Actor } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { treeLimits, type TreeLimits } from './limits.ts';
import type { MessageArgs } from './message-extras.ts';
import type { SessionPorts } from './ports.ts';
import { owned } from './reach.ts';

/** Where a message goes: a session that is there (live or to be resumed), or a new one. */
export interface Target {
  project: Project;
  workspace: WorkspaceRef;
  session?: SessionRow;
  parent?: SessionRow;
  limits: TreeLimits;
}

interface WorkspaceRef {
  id: string;
  project_id: string;
}

/** Finds the target; everything that can be refused without a transaction is refused here. */
export async function findTarget(
  ports: SessionPorts,
  actor: Actor,
  args: MessageArgs,
  isSpawn: boolean,
): Promise<Target> {
  if (args.session_id !== undefined && !isSpawn) return targetOfSession(ports, actor, args, args.session_id);
  if (args.project_id === undefined) throw fail('request.invalid', { reason: 'project_id or session_id is needed' });
  return targetInProject(ports, actor, args, args.project_id, isSpawn);
}

/** The session that was named, if it is the actor's and what else is asked for fits it. */
async function targetOfSession(
  ports: SessionPorts,
  actor: Actor,
  args: MessageArgs,
  sessionId: string,
): Promise<Target> {
  const session = await owned(ports, actor, sessionId, 'send messages to it');
  if (args.project_id !== undefined && args.project_id !== session.project_id)
    throw fail('session.not_found', { ref: sessionId });
  if (args.agent !== undefined && args.agent !== session.agent) {
    // An agent that nobody configured is refused by its own name first.
    ports.agent(args.agent);
    throw fail('session.state', {
      ref: session.id,
      status: session.status,
      action: `going on with another agent than ${session.agent} (use session_spawn)`,
    });
  }
  const project = await ports.projects.load(session.project_id);
  if (!project) throw fail('project.not_found', { ref: session.project_id });
  return {
    project,
    workspace: { id: session.workspace_id, project_id: session.project_id },
    session,
    limits: treeLimits(await projectOfSession(ports, session.root_id), project),
  };
}

/** The latest session of the actor in the workspace that was asked for, or a new one there. */
async function targetInProject(
  ports: SessionPorts,
  actor: Actor,
  args: MessageArgs,
  projectId: string,
  isSpawn: boolean,
): Promise<Target> {
  const project =
    actor.kind === 'session' ? await ownProject(ports, actor, projectId) : await ports.projects.get(actor, projectId);
  const parent = actor.sessionId === undefined ? undefined : await ports.tables.get(actor.sessionId);
  const workspace = await findWorkspace(ports, actor, project, args);
  const session = isSpawn
    ? undefined
    : await ports.tables.latest({
        workspace_id: workspace.id,
        owner: actor.principal,
        parent_id: parent?.id ?? null,
        ...(args.agent !== undefined && { agent: args.agent }),
      });
  return {
    project,
    workspace,
    ...(session && { session }),
    ...(parent && { parent }),
    limits: treeLimits(parent && (await projectOfSession(ports, parent.root_id)), project),
  };
}

async function projectOfSession(ports: SessionPorts, sessionId: string): Promise<Project | undefined> {
  const session = await ports.tables.get(sessionId);
  return session && ports.projects.load(session.project_id);
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
  { workspace_id, external_id, source, create_workspace }: MessageArgs,
): Promise<WorkspaceRef> {
  if (workspace_id !== undefined) {
    const row = await ports.projectTables.workspace(workspace_id);
    if (row?.project_id !== project.id) throw fail('workspace.not_found', { ref: workspace_id });
    return row;
  }
  if (create_workspace)
    return ports.projects.createWorkspace(actor, project.id, {
      ...(external_id !== undefined && { external_id }),
      ...(source !== undefined && { source }),
    });
  if (external_id !== undefined) {
    const row = await ports.projects.findWorkspace(project.id, external_id, source);
    if (!row) throw fail('workspace.not_found', { ref: `${external_id} (create_workspace: true makes one)` });
    return row;
  }
  return { id: project.default_workspace_id, project_id: project.id };
}
