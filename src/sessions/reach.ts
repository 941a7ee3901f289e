import { fail, reaches, type Actor } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import type { SessionPorts } from './ports.ts';

/** A key granted to a session cannot override what was set above that session, whatever its level. */
export const isAdmin = (actor: Actor): boolean => reaches(actor.level, 'admin') && actor.sessionId === undefined;

/** The session, if it lies in the actor's reach; session.not_found otherwise. A session itself sees only its descendants. */
export async function visible(ports: SessionPorts, actor: Actor, sessionId: string): Promise<SessionRow> {
  const row = await ports.tables.peek(sessionId);
  if (!row || !(await isVisible(ports, actor, row))) throw fail('session.not_found', { ref: sessionId });
  return row;
}

export async function isVisible(ports: SessionPorts, actor: Actor, row: SessionRow): Promise<boolean> {
  if (actor.kind === 'session') return (await ancestors(ports, row)).some((each) => each.id === actor.sessionId);
  return ports.projects.get(actor, row.project_id).then(
    () => true,
    () => false,
  );
}

/** As visible, and the actor may send, answer and end: its owner, an owner above it, or an admin. */
export async function owned(ports: SessionPorts, actor: Actor, sessionId: string, action: string): Promise<SessionRow> {
  const row = await visible(ports, actor, sessionId);
  if (!(await isOwned(ports, actor, row)))
    throw fail('scope.denied', {
      message: `Session ${sessionId} belongs to someone else; only its owner or an admin may ${action}.`,
    });
  return row;
}

export async function isOwned(ports: SessionPorts, actor: Actor, row: SessionRow): Promise<boolean> {
  if (isAdmin(actor) || row.owner === actor.principal) return true;
  return (await ancestors(ports, row)).some((each) => each.owner === actor.principal);
}

async function ancestors(ports: SessionPorts, row: SessionRow): Promise<SessionRow[]> {
  const found: SessionRow[] = [];
  for (let id = row.parent_id; id;) {
    const parent: SessionRow | undefined = await ports.tables.peek(id);
    if (!parent) break;
    found.push(parent);
    id = parent.parent_id;
  }
  return found;
}
