import type { Database } from './sqlite.ts';

/** A project's utility sandbox that was started and not stopped; it outlives the server that started it. */
export interface UtilityRow {
  project_id: string;
  workspace_id: string;
  place: string;
  box_id: string;
  driver: string;
  /** The server process that looks after it. */
  node: string;
}

export interface UtilityTables {
  list(): UtilityRow[];
  /** The rest only inside a Writer. */
  keep(row: UtilityRow): void;
  drop(projectId: string): void;
  /** True when it belonged to `from` and now belongs to `to`. */
  claim(projectId: string, from: string, to: string): boolean;
}

export async function openUtilityBoxes(db: Database): Promise<UtilityTables> {
  await db.migrate('utility_boxes', [
    `CREATE TABLE utility_boxes (project_id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, place TEXT NOT NULL, box_id TEXT NOT NULL,
       driver TEXT NOT NULL, node TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
  ]);
  return {
    list: () => db.all<UtilityRow>('SELECT * FROM utility_boxes'),
    keep({ project_id, workspace_id, place, box_id, driver, node }) {
      db.run(
        'INSERT OR REPLACE INTO utility_boxes VALUES (?, ?, ?, ?, ?, ?)',
        project_id,
        workspace_id,
        place,
        box_id,
        driver,
        node,
      );
    },
    drop(projectId) {
      db.run('DELETE FROM utility_boxes WHERE project_id = ?', projectId);
    },
    claim: (projectId, from, to) =>
      db.run('UPDATE utility_boxes SET node = ? WHERE project_id = ? AND node = ?', to, projectId, from) === 1,
  };
}
