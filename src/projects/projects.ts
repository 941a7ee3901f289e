import { rename, rm, stat } from 'node:fs/promises';
import type { DriverName, Probe, SandboxDriver, Sandboxes } from '../sandbox/index.ts';
import { fail, newId, reachesProject, type Actor, type Settings } from '../schema/index.ts';
import {
  removeTree,
  type Database,
  type ProjectRow,
  type ProjectTables,
  type ProjectWish,
  type SessionTables,
} from '../store/index.ts';
import { admitWish, defaultBundles, levelOf, limitsOf } from './admit-project.ts';
import type { CloneFetch } from './clone.ts';
import { projectFolders } from './project-folders.ts';
import { newWorkspace, workspaces, type Workspaces } from './workspaces.ts';

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

export interface Projects extends Workspaces {
  create(actor: Actor, name: string, wish: ProjectWish): Promise<Project>;
  /** In the actor's reach, or project.not_found. */
  get(actor: Actor, id: string): Promise<Project>;
  list(actor: Actor): Promise<Project[]>;
  /** For rooms that act by themselves (re-attaching, doors): no actor, no check. */
  load(id: string): Promise<Project | undefined>;
  /** All or nothing; project.busy while sessions are live. */
  delete(actor: Actor, id: string): Promise<void>;
  sandboxFor(project: Project): Promise<SandboxChoice>;
  /** Runs before a project's rows go: stops what still runs for it. */
  onDelete(listener: (projectId: string) => Promise<void>): void;
  /** Finishes deletions that a crash interrupted; all that can be, and then throws what could not. */
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
  const folders = projectFolders(folder);
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
  // A project that the actor made is in its reach, although no earlier list could name it.
  const isInReach = (actor: Actor, row: ProjectRow): boolean =>
    reachesProject(actor, row.id) || row.owner === actor.principal;

  async function find(actor: Actor, id: string): Promise<ProjectRow> {
    const row = await tables.get(id);
    if (!row || row.status === 'deleting' || !isInReach(actor, row)) throw fail('project.not_found', { ref: id });
    return row;
  }

  /** The folder goes first (by a rename), so that a crash leaves either a whole project or one marked for removal. */
  async function finishDelete(id: string): Promise<void> {
    for (const listener of beforeDelete) await listener(id);
    await rename(folders.ofProject(id), folders.trash(id)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await db.write(() => {
      for (const session of sessions.listNow({ project_id: id })) {
        forgetSession(db, session.id);
        sessions.remove(session.id);
      }
      tables.remove(id);
    });
    await removeTree(folders.trash(id));
  }

  return {
    ...workspaces({ db, tables, sessions, folders, isInReach, find, egressOf: (row) => filled(row).egress, fetch }),
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
      const space = newWorkspace(id, { is_default: true, created_at: now });
      const row: ProjectRow = {
        id,
        name,
        status: 'active',
        owner: actor.principal,
        default_workspace_id: space.id,
        wish: stored,
        created_at: now,
      };
      await folders.make(space);
      try {
        await db.write(() => {
          if (tables.byNameNow(name)) throw fail('project.exists', { name });
          tables.insert(row);
          tables.insertWorkspace(space);
        });
      } catch (error) {
        await rm(folders.ofProject(id), { recursive: true, force: true });
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
        const isWhole = await stat(folders.ofProject(id)).then(
          () => true,
          () => false,
        );
        if (isWhole) await db.write(() => tables.setStatus(id, 'active'));
        throw error;
      }
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
      const problems: unknown[] = [];
      for (const row of await tables.list())
        if (row.status === 'deleting') await finishDelete(row.id).catch((error: unknown) => problems.push(error));
      problems.push(...(await folders.emptyTrash()));
      if (problems.length > 0) throw new AggregateError(problems, 'not all that was deleted could be removed');
    },
  };
}

function nameProblem(name: string): string | undefined {
  if (name.trim() === '') return 'must not be blank';
  return /[\u0000-\u001f\u007f]/.test(name) || !name.isWellFormed() ? 'must not hold control characters' : undefined;
}
