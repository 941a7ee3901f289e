import type { LogTransaction } from '../log/index.ts';
import type { SessionStatus } from '../schema/index.ts';
import type { SessionRow } from '../store/index.ts';
import { isLive } from './admission.ts';
import type { SessionPorts } from './ports.ts';

export interface Ending {
  status: 'ended' | 'failed' | 'timed_out';
  reason?: string;
  error?: { code: string; message: string };
  /** True when the error's event is stored already. */
  isTold?: boolean;
}

/** The end of a session that cannot go on. */
export const failedWith = (code: string, message: string, isTold = false): Ending => ({
  status: 'failed',
  reason: message,
  error: { code, message },
  isTold,
});

/** Stores that a session is over, with all that was open in it. One that is over already stays as it is. */
export async function storeEnd(ports: SessionPorts, sessionId: string, ending: Ending): Promise<void> {
  await ports.log.write((tx) => {
    const row = ports.tables.getNow(sessionId);
    if (!row || !isLive(row)) return;
    ports.asks.closeAll(tx, sessionId);
    for (const { id } of ports.tables.messagesNow(sessionId, 'running')) ports.tables.setMessage(id, 'dropped');
    if (ending.error && !ending.isTold) tx.append(sessionId, row.turn, { type: 'error', ...ending.error });
    // Before the status event, because readers stop there.
    for (const { id, turn } of ports.tables.messagesNow(sessionId, 'queued')) {
      ports.tables.setMessage(id, 'dropped');
      tx.append(sessionId, turn, { type: 'error', code: 'session.state', message: neverBegun(ending.status) });
      tx.append(sessionId, turn, { type: 'completion', stop_reason: 'cancelled', text: '' });
    }
    tx.append(sessionId, row.turn, {
      type: 'status',
      status: ending.status,
      ...(ending.reason !== undefined && { reason: ending.reason }),
    });
    ports.tables.update(sessionId, {
      status: ending.status,
      box: null,
      node: null,
      wanted: null,
      reserved_usd: 0,
      error: ending.error ?? null,
    });
    tellParent(ports, tx, sessionId, ending.status);
  });
}

const neverBegun = (status: Ending['status']): string =>
  `The session ${status.replace('_', ' ')} before this message was begun. Send it again to go on with the session.`;

/** Gives up the messages that wait, and says so of each. */
export async function dropWaiting(ports: SessionPorts, sessionId: string): Promise<void> {
  await ports.log.write((tx) => {
    for (const message of ports.tables.messagesNow(sessionId, 'queued')) {
      ports.tables.setMessage(message.id, 'dropped');
      tx.append(sessionId, message.turn, { type: 'completion', stop_reason: 'cancelled', text: '' });
    }
  });
}

/** Stores that a session starts again in a new sandbox and that its turn was cut short; undefined when it is over. */
export function storeRevival(ports: SessionPorts, sessionId: string, reason: string): Promise<SessionRow | undefined> {
  return ports.log.write((tx) => {
    const now = ports.tables.getNow(sessionId);
    if (!now || !isLive(now)) return undefined;
    for (const message of ports.tables.messagesNow(sessionId, 'running')) {
      ports.tables.setMessage(message.id, 'done');
      tx.append(sessionId, now.turn, { type: 'error', code: 'sandbox.failed', message: reason });
      tx.append(sessionId, now.turn, { type: 'completion', stop_reason: 'interrupted', text: '' });
    }
    tx.append(sessionId, now.turn, { type: 'status', status: 'starting', reason });
    ports.tables.update(sessionId, { status: 'starting', box: null });
    return ports.tables.getNow(sessionId);
  });
}

/** Appends a `child` event to the parent's log in the same transaction. */
export function tellParent(ports: SessionPorts, tx: LogTransaction, sessionId: string, status: SessionStatus): void {
  const parentId = ports.tables.getNow(sessionId)?.parent_id;
  const parent = parentId ? ports.tables.getNow(parentId) : undefined;
  if (parent) tx.append(parent.id, parent.turn, { type: 'child', child_session_id: sessionId, status });
}
