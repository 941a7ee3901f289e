import { KeptRows } from './kept-rows.ts';
import type { Database } from './sqlite.ts';

/** What a person asked for when a project was made; what is absent follows the configuration. */
export interface ProjectWish {
  description?: string;
  agent?: string;
  model?: string;
  sandbox: { driver?: string; level?: 'basic' | 'strict'; image?: string; egress?: string[] };
  limits: { depth?: number; agents?: number; cost_usd?: number };
  bundles?: string[];
  env: Record<string, string>;
  /** Names only. */
  secrets: string[];
}

export interface ProjectRow {
  id: string;
  name: string;
  status: 'active' | 'deleting';
  owner: string;
  default_workspace_id: string;
  wish: ProjectWish;
  created_at: string;
}

export interface WorkspaceRow {
  id: string;
  project_id: string;
  is_default: boolean;
  external_id: string | null;
  source: string | null;
  created_at: string;
  last_session_at: string | null;
}

const steps = [
  `CREATE TABLE projects (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, status TEXT NOT NULL, owner TEXT NOT NULL,
     default_workspace_id TEXT NOT NULL, wish TEXT NOT NULL, created_at TEXT NOT NULL) STRICT;
   CREATE TABLE workspaces (id TEXT PRIMARY KEY, project_id TEXT NOT NULL REFERENCES projects (id), is_default INTEGER NOT NULL,
     external_id TEXT, source TEXT, created_at TEXT NOT NULL, last_session_at TEXT) STRICT;
   CREATE UNIQUE INDEX workspaces_external ON workspaces (project_id, coalesce(source, ''), external_id) WHERE external_id IS NOT NULL;
   CREATE INDEX workspaces_project ON workspaces (project_id);`,
];

/** Rows of projects and workspaces. Methods that change something run only inside a Writer. */
export interface ProjectTables {
  /** The same row for all who ask. */
  get(id: string): Promise<Readonly<ProjectRow> | undefined>;
  list(): Promise<ProjectRow[]>;
  workspace(id: string): Promise<WorkspaceRow | undefined>;
  workspaces(projectId: string): Promise<WorkspaceRow[]>;
  getNow(id: string): ProjectRow | undefined;
  byNameNow(name: string): ProjectRow | undefined;
  workspaceNow(id: string): WorkspaceRow | undefined;
  byExternalNow(projectId: string, source: string | null, externalId: string): WorkspaceRow | undefined;
  insert(row: ProjectRow): void;
  insertWorkspace(row: WorkspaceRow): void;
  setStatus(id: string, status: ProjectRow['status']): void;
  touchWorkspace(id: string, at: string): void;
  removeWorkspace(id: string): void;
  /** The project and its workspaces. */
  remove(id: string): void;
}

interface RawProject extends Omit<ProjectRow, 'wish'> {
  wish: string;
}
interface RawWorkspace extends Omit<WorkspaceRow, 'is_default'> {
  is_default: number;
}

export async function openProjects(db: Database): Promise<ProjectTables> {
  await db.migrate('projects', steps);
  const project = (raw: RawProject | undefined): ProjectRow | undefined =>
    raw && { ...raw, wish: JSON.parse(raw.wish) as ProjectWish };
  const space = (raw: RawWorkspace | undefined): WorkspaceRow | undefined =>
    raw && { ...raw, is_default: raw.is_default === 1 };
  const getNow = (id: string): ProjectRow | undefined =>
    project(db.get<RawProject>('SELECT * FROM projects WHERE id = ?', id));
  const workspaceNow = (id: string): WorkspaceRow | undefined =>
    space(db.get<RawWorkspace>('SELECT * FROM workspaces WHERE id = ?', id));
  const kept = new KeptRows(db, getNow);
  return {
    getNow,
    workspaceNow,
    async get(id) {
      return kept.get(id);
    },
    async list() {
      return db.all<RawProject>('SELECT * FROM projects ORDER BY id').map((raw) => project(raw)!);
    },
    async workspace(id) {
      return workspaceNow(id);
    },
    async workspaces(projectId) {
      return db
        .all<RawWorkspace>('SELECT * FROM workspaces WHERE project_id = ? ORDER BY id', projectId)
        .map((raw) => space(raw)!);
    },
    byNameNow: (name) => project(db.get<RawProject>('SELECT * FROM projects WHERE name = ?', name)),
    byExternalNow: (projectId, source, externalId) =>
      space(
        db.get<RawWorkspace>(
          "SELECT * FROM workspaces WHERE project_id = ? AND coalesce(source, '') = ? AND external_id = ?",
          projectId,
          source ?? '',
          externalId,
        ),
      ),
    insert(row) {
      db.run(
        'INSERT INTO projects VALUES (?, ?, ?, ?, ?, ?, ?)',
        row.id,
        row.name,
        row.status,
        row.owner,
        row.default_workspace_id,
        JSON.stringify(row.wish),
        row.created_at,
      );
    },
    insertWorkspace(row) {
      db.run(
        'INSERT INTO workspaces VALUES (?, ?, ?, ?, ?, ?, ?)',
        row.id,
        row.project_id,
        row.is_default ? 1 : 0,
        row.external_id,
        row.source,
        row.created_at,
        row.last_session_at,
      );
    },
    setStatus(id, status) {
      kept.forget(id);
      db.run('UPDATE projects SET status = ? WHERE id = ?', status, id);
    },
    touchWorkspace(id, at) {
      db.run('UPDATE workspaces SET last_session_at = ? WHERE id = ?', at, id);
    },
    removeWorkspace(id) {
      db.run('DELETE FROM workspaces WHERE id = ?', id);
    },
    remove(id) {
      kept.forget(id);
      db.run('DELETE FROM workspaces WHERE project_id = ?', id);
      db.run('DELETE FROM projects WHERE id = ?', id);
    },
  };
}
