import { join } from 'node:path';
import type { Actor } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { isLive } from './admission.ts';
import { placeAt } from './place.ts';
import type { SessionPorts } from './ports.ts';
import { isAdmin } from './reach.ts';

/** A session as everyone outside sees it. */
export async function sessionView(
  ports: SessionPorts,
  row: SessionRow,
  actor: Actor,
): Promise<Record<string, unknown>> {
  const { newest } = await ports.log.bounds(row.id);
  const asks = await ports.asks.open(row.id);
  const hasSocket = isAdmin(actor) && row.place !== null && isLive(row);
  return {
    id: row.id,
    project_id: row.project_id,
    workspace_id: row.workspace_id,
    parent_id: row.parent_id,
    depth: row.depth,
    status: row.status,
    agent: row.agent,
    model: row.model,
    owner: row.owner,
    turn: row.turn,
    last_event_index: newest,
    usage: { input_tokens: row.input_tokens, output_tokens: row.output_tokens, cost_usd: row.cost_usd },
    pending_asks: asks.map((ask) => ({ request_id: ask.id, kind: ask.kind, tool: ask.tool, deadline: ask.deadline })),
    caller_id: row.caller?.caller_id ?? null,
    caller_tools: row.caller?.caller_tools ?? [],
    ...(row.error && { error: row.error }),
    created_at: row.created_at,
    updated_at: row.updated_at,
    ...(hasSocket && { relay_socket: join(placeAt(ports.runFolder, row.place!).mcp, 'relay.sock') }),
  };
}
