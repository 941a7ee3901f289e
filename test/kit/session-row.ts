import type { SessionRow } from '../../src/store/index.ts';

/** A session as it is stored, at its very beginning but for what is given. */
export function sessionRow(
  given: Pick<SessionRow, 'id' | 'project_id' | 'workspace_id'> & Partial<SessionRow>,
): SessionRow {
  return {
    parent_id: null,
    root_id: given.id,
    depth: 0,
    status: 'idle',
    agent: 'embedded',
    model: null,
    owner: 'local',
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
    created_at: '',
    updated_at: '',
    ...given,
  };
}
