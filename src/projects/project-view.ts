import type { WorkspaceRow } from '../store/index.ts';
import type { Project, Projects } from './projects.ts';

/** A project as everyone outside sees it: what it asked for, and what its sandbox is here and now. */
export async function projectView(room: Projects, project: Project): Promise<Record<string, unknown>> {
  return {
    id: project.id,
    name: project.name,
    description: project.wish.description ?? '',
    status: project.status,
    agent: project.agent,
    ...(project.model !== undefined && { model: project.model }),
    sandbox: await sandboxView(room, project),
    default_workspace_id: project.default_workspace_id,
    limits: project.limits,
    bundles: project.bundles,
    env: Object.keys(project.wish.env),
    secrets: project.wish.secrets,
    created_at: project.created_at,
  };
}

async function sandboxView(room: Projects, project: Project): Promise<Record<string, unknown>> {
  const wish = project.wish.sandbox;
  const asked = { ...(wish.image !== undefined && { image: wish.image }), egress: project.egress };
  try {
    const { driver, probe } = await room.sandboxFor(project);
    return { driver: driver.name, level: probe.level, ...asked, missing: probe.missing };
  } catch (error) {
    return {
      driver: wish.driver ?? 'auto',
      level: wish.level ?? 'basic',
      ...asked,
      unavailable: (error as Error).message,
    };
  }
}

export function workspaceView(row: WorkspaceRow): WorkspaceRow {
  return {
    id: row.id,
    project_id: row.project_id,
    is_default: row.is_default,
    external_id: row.external_id,
    source: row.source,
    created_at: row.created_at,
    last_session_at: row.last_session_at,
  };
}
