import { join } from 'node:path';
import { newId } from '../../src/schema/index.ts';
import { Database, openSessions } from '../../src/store/index.ts';
import { sessionRow } from './session-row.ts';

/** Sessions of a project that were over at a time, without their having been. */
export async function keepEndedSessions(
  home: string,
  projectId: string,
  count: number,
  at = new Date().toISOString(),
): Promise<void> {
  const db = new Database(join(home, 'state.db'));
  const tables = await openSessions(db);
  const workspaceId = newId('wsp');
  await db.write(() => {
    for (let i = 0; i < count; i++) {
      const place = { id: newId('ses'), project_id: projectId, workspace_id: workspaceId };
      tables.insert(sessionRow({ ...place, status: 'ended', owner: 'someone', created_at: at, updated_at: at }));
    }
  });
  await db.close();
}
