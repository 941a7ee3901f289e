import { hash } from 'node:crypto';
import { fail, type CallerOutcome, type EventBody, type PermissionOption } from '../schema/index.ts';
import type { AskRow } from '../store/index.ts';

/** How a question ended. */
export type AskOutcome =
  | { outcome: 'result'; value: unknown }
  | { outcome: 'error'; message: string }
  | { outcome: 'timeout'; timeoutMs: number }
  | { outcome: 'disconnected' }
  | { outcome: 'choice'; choice: string };

/** An open question as callers see it. */
export interface Ask {
  id: string;
  sessionId: string;
  kind: AskRow['kind'];
  owner: string;
  tool: string;
  deadline: string;
  eventIndex: number;
  isOpen: boolean;
}

/** The asking side's name for a request is the same when it asks again, and so is the ask. */
export function idOfKey(sessionId: string, key: string): string {
  return `ask_${hash('sha256', `${sessionId} ${key}`).slice(0, 32)}`;
}

/** What its session's log says when it is over. */
export function closingEvent(row: AskRow, outcome: AskOutcome): EventBody {
  if (row.kind === 'permission')
    return { type: 'permission_answer', request_id: row.id, choice: permissionChoice(outcome) };
  return { type: 'caller_tool_answer', request_id: row.id, outcome: outcome.outcome as CallerOutcome };
}

function permissionChoice(outcome: AskOutcome): string {
  if (outcome.outcome === 'choice') return outcome.choice;
  return outcome.outcome === 'timeout' ? 'timeout' : 'cancelled';
}

/** Throws request.invalid when the choice is none of those that were offered. */
export function checkChoice(row: AskRow, choice: string): void {
  const known = (JSON.parse(row.payload) as PermissionOption[]).map((option) => option.id);
  if (!known.includes(choice)) throw fail('request.invalid', { reason: `choice must be one of ${known.join(', ')}` });
}

/** Only for rows that are closed. */
export function outcomeOf(row: AskRow): AskOutcome {
  return JSON.parse(row.answer!) as AskOutcome;
}

export function asAsk(row: AskRow): Ask {
  return {
    id: row.id,
    sessionId: row.session_id,
    kind: row.kind,
    owner: row.owner,
    tool: row.tool,
    deadline: new Date(row.deadline).toISOString(),
    eventIndex: row.event_index,
    isOpen: row.state === 'open',
  };
}
