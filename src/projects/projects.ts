import { mkdir, readdir, rename, rm, stat, chown } from 'node:fs/promises';
import { join } from 'node:path';
import { sandboxUser, type DriverName, type Probe, type SandboxDriver, type Sandboxes } from '../sandbox/index.ts';
import { fail, newId, reachesProject, type Actor, type Settings } from '../schema/index.ts';
import type { Database, ProjectRow, ProjectTables, ProjectWish, SessionTables, WorkspaceRow } from '../store/index.ts';
import { cloneInto, type CloneFetch } from './clone.ts';
import { diffSince, takeSnapshot, type WorkspaceDiff } from './workspace-diff.ts';
import { admitWish, defaultBundles, levelOf, limitsOf } from './admit-project.ts';

/** The driver that a project's sandboxes get here and now, and how closed they are. */
export interface SandboxChoice {
  driver: SandboxDriver;
  probe: Probe;
}

/** A project with every default filled in. */
export interface Project {
  id: string;
  name: string;
  owner: string;
  agent: string;
  model?: string;
  wish: ProjectWish;
  limits: { depth: number; agents: number; cost_usd: number };
  bundles: readonly string[];
  egress: readonly string[];
  default_workspace_id: string;
  created_at: string;
  status: ProjectRow['status'];
}

export interface Projects {
  create(actor: Actor, name: string, wish: ProjectWish): Promise<Project>;
  /** In the actor's reach, or project.not_found. */
  get(actor: Actor, id: string): Promise<Project>;
  list(actor: Actor): Promise<Project[]>;
  /** For rooms that act by themselves (re-attaching, doors): no actor, no check. */
  load(id: string): Promise<Project | undefined>;
  /** All or nothing; project.busy while sessions are live. */
  delete(actor: Actor, id: string): Promise<void>;
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
  folderOf(workspace: { id: string; project_id: string }): string;
  /** Remembers what a workspace looks like before an agent begins in it. */
  snapshot(workspace: { id: string; project_id: string }): Promise<void>;
  /** What changed since then. */
  diff(actor: Actor, workspaceId: string): Promise<WorkspaceDiff>;
  /** Puts a git repository into a new folder of a workspace, as far as the project's egress allows. */
  clone(
    actor: Actor,
    workspaceId: string,
    wish: { url: string; ref?: string; path: string },
  ): Promise<{ commit: string }>;
  sandboxFor(project: Project): Promise<SandboxChoice>;
  /** Runs before a project's rows go: stops what still runs for it. */
  onDelete(listener: (projectId: string) => Promise<void>): void;
  /** Finishes deletions that a crash interrupted. */
  tidy(): Promise<void>;
}

export interface ProjectsOptions {
  db: Database;
  tables: ProjectTables;
  sessions: SessionTables;
  /** Removes events and asks of a session inside the transaction that removes its project. */
  forgetSession: (db: Database, sessionId: string) => void;
  folder: string;
  settings: () => Settings;
  sandboxes: Pick<Sandboxes, 'choose'>;
  knownBundles: () => readonly string[];
  /** Reaches only hosts of the list it is given; throws host.not_allowed. */
  fetch: (url: string, init: Parameters<CloneFetch>[1], egress: readonly string[]) => ReturnType<CloneFetch>;
}

export function projects({
  db,
  tables,
  sessions,
  forgetSession,
  folder,
  settings,
  sandboxes,
  knownBundles,
  fetch,
}: ProjectsOptions): Projects {
  const beforeDelete: ((projectId: string) => Promise<void>)[] = [];
  const folderOf = (workspace: { id: string; project_id: string }): string =>
    join(folder, workspace.project_id, 'workspaces', workspace.id);
  const snapshotOf = (row: { id: string; project_id: string }): string =>
    join(folder, row.project_id, 'snapshots', row.id);
  const trashOf = (id: string): string => join(folder, `.deleted-${id}`);
  const filled = (row: ProjectRow): Project => {
    const now = settings();
    const model = row.wish.model ?? now.agents.known[row.wish.agent ?? now.agents.default]?.model;
    return {
      ...row,
      agent: row.wish.agent ?? now.agents.default,
      ...(model !== undefined && { model }),
      limits: limitsOf(row.wish, now),
      bundles: row.wish.bundles ?? defaultBundles,
      egress: row.wish.sandbox.egress ?? [],
    };
  };
  // What an actor made lies in its reach, though no list written before could name it.
  const isInReach = (actor: Actor, row: ProjectRow): boolean =>
    reachesProject(actor, row.id) || row.owner === actor.principal;

  async function find(actor: Actor, id: string): Promise<ProjectRow> {
    const row = await tables.get(id);
    if (!row || row.status === 'deleting' || !isInReach(actor, row)) throw fail('project.not_found', { ref: id });
    return row;
  }

  async function workspace(actor: Actor, id: string): Promise<WorkspaceRow> {
    const row = await tables.workspace(id);
    const project = row && (await tables.get(row.project_id));
    if (!row || !project || project.status === 'deleting' || !isInReach(actor, project))
      throw fail('workspace.not_found', { ref: id });
    return row;
  }

  async function makeFolder(row: WorkspaceRow): Promise<void> {
    await mkdir(folderOf(row), { recursive: true, mode: 0o700 });
    // Whoever works in it later must be able to change what is put in before.
    const { uid, gid } = sandboxUser();
    if (process.getuid?.() === 0) await chown(folderOf(row), uid, gid);
  }

  /** The folder goes first (by a rename), so that a crash leaves either a whole project or one marked for removal. */
  async function finishDelete(id: string): Promise<void> {
    for (const listener of beforeDelete) await listener(id);
    await rename(join(folder, id), trashOf(id)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await db.write(() => {
      for (const session of sessions.listNow({ project_id: id })) {
        forgetSession(db, session.id);
        sessions.remove(session.id);
      }
      tables.remove(id);
    });
    await rm(trashOf(id), { recursive: true, force: true });
  }

  return {
    folderOf,
    async create(actor, name, wish) {
      const problem = nameProblem(name);
      if (problem)
        throw fail(
          'args.invalid',
          { tool: 'project_create', reason: `/args/name ${problem}` },
          { details: [{ path: '/args/name', message: problem }] },
        );
      const own = actor.sessionId && actor.projectId ? await tables.get(actor.projectId) : undefined;
      const stored = admitWish(actor, wish, {
        settings: settings(),
        knownBundles: knownBundles(),
        ...(own && { own }),
      });
      const id = newId('proj');
      const now = new Date().toISOString();
      const space: WorkspaceRow = {
        id: newId('wsp'),
        project_id: id,
        is_default: true,
        external_id: null,
        source: null,
        created_at: now,
        last_session_at: null,
      };
      const row: ProjectRow = {
        id,
        name,
        status: 'active',
        owner: actor.principal,
        default_workspace_id: space.id,
        wish: stored,
        created_at: now,
      };
      await makeFolder(space);
      try {
        await db.write(() => {
          if (tables.byNameNow(name)) throw fail('project.exists', { name });
          tables.insert(row);
          tables.insertWorkspace(space);
        });
      } catch (error) {
        await rm(join(folder, id), { recursive: true, force: true });
        throw error;
      }
      return filled(row);
    },
    get: async (actor, id) => filled(await find(actor, id)),
    async list(actor) {
      return (await tables.list()).filter((row) => row.status === 'active' && isInReach(actor, row)).map(filled);
    },
    async load(id) {
      const row = await tables.get(id);
      return row && filled(row);
    },
    async delete(actor, id) {
      await find(actor, id);
      await db.write(() => {
        const count = sessions.listNow({ project_id: id, isLive: true }).length;
        if (count > 0) throw fail('project.busy', { ref: id, count });
        tables.setStatus(id, 'deleting');
      });
      try {
        await finishDelete(id);
      } catch (error) {
        const isWhole = await stat(join(folder, id)).then(
          () => true,
          () => false,
        );
        if (isWhole) await db.write(() => tables.setStatus(id, 'active'));
        throw error;
      }
    },
    workspace,
    async workspaces(actor, projectId) {
      await find(actor, projectId);
      return tables.workspaces(projectId);
    },
    async createWorkspace(actor, projectId, more) {
      await find(actor, projectId);
      const row: WorkspaceRow = {
        id: newId('wsp'),
        project_id: projectId,
        is_default: false,
        external_id: more.external_id ?? null,
        source: more.source ?? null,
        created_at: new Date().toISOString(),
        last_session_at: null,
      };
      await makeFolder(row);
      const known = await db.write(() => {
        const same =
          row.external_id === null ? undefined : tables.byExternalNow(projectId, row.source, row.external_id);
        if (!same) tables.insertWorkspace(row);
        return same;
      });
      if (!known) return row;
      await rm(folderOf(row), { recursive: true, force: true });
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
      const trash = trashOf(id);
      await rename(folderOf(row), trash).catch(() => {});
      await rm(snapshotOf(row), { recursive: true, force: true });
      await rm(trash, { recursive: true, force: true });
    },
    async snapshot(row) {
      if (sessions.listNow({ workspace_id: row.id, isLive: true }).length <= 1)
        await takeSnapshot(folderOf(row), snapshotOf(row));
    },
    async diff(actor, id) {
      const row = await workspace(actor, id);
      return diffSince(folderOf(row), snapshotOf(row));
    },
    async clone(actor, id, wish) {
      const row = await workspace(actor, id);
      const { egress } = filled((await tables.get(row.project_id))!);
      return cloneInto(folderOf(row), wish, (url, init) => fetch(url, init, egress));
    },
    sandboxFor(project) {
      const now = settings();
      const { driver = now.sandbox.driver, image } = project.wish.sandbox;
      return sandboxes.choose({
        driver: driver as 'auto' | DriverName,
        level: levelOf(project.wish, now),
        ...(image !== undefined && { image }),
      });
    },
    onDelete: (listener) => void beforeDelete.push(listener),
    async tidy() {
      for (const row of await tables.list()) if (row.status === 'deleting') await finishDelete(row.id);
      for (const name of await readdir(folder))
        if (name.startsWith('.deleted-')) await rm(join(folder, name), { recursive: true, force: true });
    },
  };
}

/** Files that a server running as root makes for a sandbox belong to whoever owns the workspace. */
export async function giveToOwnerOf(folder: string, path: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = await stat(folder);
  await chown(path, uid, gid);
}

function nameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'must not be blank';
  return /[\u0000-\u001f\u007f]/.test(name) || !name.isWellFormed() ? 'must not hold control characters' : undefined;
}
