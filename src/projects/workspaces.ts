import { rename, rm } from 'node:fs/promises';
import { fail, newId, type Actor } from '../schema/index.ts';
import {
  removeTree,
  type Database,
  type ProjectRow,
  type ProjectTables,
  type SessionTables,
  type WorkspaceRow,
} from '../store/index.ts';
import { cloneInto, type CloneFetch } from './clone.ts';
import type { Placed, projectFolders } from './project-folders.ts';
import { diffSince, takeSnapshot, type WorkspaceDiff } from './workspace-diff.ts';

/** Folders of projects in which sessions work. */
export interface Workspaces {
  workspace(actor: Actor, id: string): Promise<WorkspaceRow>;
  workspaces(actor: Actor, projectId: string): Promise<WorkspaceRow[]>;
  /** An external id that is known answers the workspace it names. */
  createWorkspace(
    actor: Actor,
    projectId: string,
    more: { external_id?: string; source?: string },
  ): Promise<WorkspaceRow>;
  findWorkspace(projectId: string, externalId: string, source?: string): Promise<WorkspaceRow | undefined>;
  deleteWorkspace(actor: Actor, id: string): Promise<void>;
  /** The host folder of a workspace. */
  folderOf(workspace: Placed): string;
  /** Remembers what a workspace looks like before an agent begins in it. */
  snapshot(workspace: Placed): Promise<void>;
  /** What changed since then. */
  diff(actor: Actor, workspaceId: string): Promise<WorkspaceDiff>;
  /** Puts a git repository into a new folder of a workspace, as far as the project's egress allows. */
  clone(
    actor: Actor,
    workspaceId: string,
    wish: { url: string; ref?: string; path: string },
  ): Promise<{ commit: string }>;
}

export interface WorkspacesOptions {
  db: Database;
  tables: ProjectTables;
  sessions: SessionTables;
  folders: ReturnType<typeof projectFolders>;
  isInReach: (actor: Actor, project: ProjectRow) => boolean;
  /** The project in the actor's reach, or project.not_found. */
  find: (actor: Actor, projectId: string) => Promise<ProjectRow>;
  egressOf: (project: ProjectRow) => readonly string[];
  /** Reaches only hosts of the list it is given; throws host.not_allowed. */
  fetch: (url: string, init: Parameters<CloneFetch>[1], egress: readonly string[]) => ReturnType<CloneFetch>;
}

export function workspaces({
  db,
  tables,
  sessions,
  folders,
  isInReach,
  find,
  egressOf,
  fetch,
}: WorkspacesOptions): Workspaces {
  async function workspace(actor: Actor, id: string): Promise<WorkspaceRow> {
    const row = await tables.workspace(id);
    const project = row && (await tables.get(row.project_id));
    if (!row || !project || project.status === 'deleting' || !isInReach(actor, project))
      throw fail('workspace.not_found', { ref: id });
    return row;
  }

  return {
    folderOf: folders.ofWorkspace,
    workspace,
    async workspaces(actor, projectId) {
      await find(actor, projectId);
      return tables.workspaces(projectId);
    },
    async createWorkspace(actor, projectId, more) {
      await find(actor, projectId);
      const row = newWorkspace(projectId, more);
      await folders.make(row);
      const known = await db.write(() => {
        const same =
          row.external_id === null ? undefined : tables.byExternalNow(projectId, row.source, row.external_id);
        if (!same) tables.insertWorkspace(row);
        return same;
      });
      if (!known) return row;
      await rm(folders.ofWorkspace(row), { recursive: true, force: true });
      return known;
    },
    async findWorkspace(projectId, externalId, source) {
      return (await tables.workspaces(projectId)).find(
        (row) => row.external_id === externalId && (source === undefined || row.source === source),
      );
    },
    async deleteWorkspace(actor, id) {
      const row = await workspace(actor, id);
      if (row.is_default) throw fail('workspace.default', { ref: id });
      await db.write(() => {
        if (sessions.listNow({ workspace_id: id, isLive: true }).length > 0) throw fail('workspace.busy', { ref: id });
        tables.removeWorkspace(id);
      });
      const trash = folders.trash(id);
      await rename(folders.ofWorkspace(row), trash).catch(() => {});
      await rm(folders.snapshot(row), { recursive: true, force: true });
      await removeTree(trash);
    },
    async snapshot(row) {
      if (sessions.listNow({ workspace_id: row.id, isLive: true }).length <= 1)
        await takeSnapshot(folders.ofWorkspace(row), folders.snapshot(row));
    },
    async diff(actor, id) {
      const row = await workspace(actor, id);
      return diffSince(folders.ofWorkspace(row), folders.snapshot(row));
    },
    async clone(actor, id, wish) {
      const row = await workspace(actor, id);
      const egress = egressOf((await tables.get(row.project_id))!);
      return cloneInto(folders.ofWorkspace(row), wish, (url, init) => fetch(url, init, egress));
    },
  };
}

export function newWorkspace(
  projectId: string,
  more: { is_default?: boolean; external_id?: string; source?: string; created_at?: string },
): WorkspaceRow {
  return {
    id: newId('wsp'),
    project_id: projectId,
    is_default: more.is_default ?? false,
    external_id: more.external_id ?? null,
    source: more.source ?? null,
    created_at: more.created_at ?? new Date().toISOString(),
    last_session_at: null,
  };
}
