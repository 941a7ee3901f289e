import { join } from 'node:path';
import { newId } from '../../src/schema/index.ts';
import { Database, openSessions, type SessionRow } from '../../src/store/index.ts';

/** Sessions of a project that were over at a time, without their having been. */
export async function keepEndedSessions(
  home: string,
  projectId: string,
  count: number,
  at = new Date().toISOString(),
): Promise<void> {
  const db = new Database(join(home, 'state.db'));
  const tables = await openSessions(db);
  const row: Omit<SessionRow, 'id' | 'root_id'> = {
    project_id: projectId,
    workspace_id: newId('wsp'),
    parent_id: null,
    depth: 0,
    status: 'ended',
    agent: 'embedded',
    model: null,
    owner: 'someone',
    turn: 1,
    last_turn: 1,
    permissions: 'auto',
    caller: null,
    place: null,
    box: null,
    key_grant: null,
    spool_offset: 0,
    agent_state: null,
    error: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    reserved_usd: 0,
    node: null,
    wanted: null,
    created_at: at,
    updated_at: at,
  };
  await db.write(() => {
    for (let i = 0; i < count; i++) {
      const id = newId('ses');
      tables.insert({ ...row, id, root_id: id });
    }
  });
  await db.close();
}
