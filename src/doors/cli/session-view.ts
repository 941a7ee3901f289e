import type { Style } from './output.ts';
import { harmless, oneLine } from './output.ts';

/** An event of a session as it comes over the wire. */
export interface WireEvent {
  index: number;
  type: string;
  turn: number;
  [field: string]: unknown;
}

const text = (value: unknown): string => harmless(typeof value === 'string' ? value : JSON.stringify(value ?? ''));

/** One event as a person reads it in a terminal; undefined for what is not worth a line. */
export function eventLine(event: WireEvent, paint: (style: Style, text: string) => string): string | undefined {
  switch (event.type) {
    case 'message':
      return event['role'] === 'user' ? `${paint('bold', '> ')}${text(event['text'])}` : text(event['text']);
    case 'thought':
      return paint('dim', oneLine(text(event['text']), 200));
    case 'tool_call':
      return `${paint('cyan', `* ${text(event['tool'])}`)} ${paint('dim', oneLine(text(event['arguments']), 160))}`;
    case 'tool_result':
      return paint(event['is_error'] ? 'red' : 'dim', `  ${head(text(event['text']))}`);
    case 'permission_request':
      return paint('yellow', `? ${text(event['tool'])} asks for permission (${text(event['request_id'])})`);
    case 'permission_answer':
      return paint('dim', `  answered: ${text(event['choice'])}`);
    case 'caller_tool_request':
      return `${paint('yellow', `? caller tool ${text(event['tool'])}`)} ${paint('dim', oneLine(text(event['arguments']), 160))}`;
    case 'caller_tool_answer':
      return paint('dim', `  caller: ${text(event['outcome'])}`);
    case 'plan':
      return paint('dim', `plan ${oneLine(text(event['entries'] ?? event['plan']), 200)}`);
    case 'child':
      return paint('dim', `child ${text(event['child_session_id'])} ${text(event['status'])}`);
    case 'error':
      return paint('red', `error ${text(event['message'])}`);
    case 'status':
      return isSessionEnd(event)
        ? paint('yellow', `session ${text(event['status'])}${event['reason'] ? `: ${text(event['reason'])}` : ''}`)
        : undefined;
    default:
      return undefined;
  }
}

/** True for the event after which nothing more comes, unless someone takes the session up again. */
export function isSessionEnd(event: WireEvent): boolean {
  return event.type === 'status' && overStates.includes(String(event['status']));
}
const overStates = ['ended', 'failed', 'timed_out'];
export const sessionStates = ['starting', 'running', 'idle', ...overStates];

/** True for the event after which nothing more comes in this turn. */
export function isTurnEnd(event: WireEvent, turn: number): boolean {
  if (event.type === 'status') return isSessionEnd(event) && event.turn >= turn;
  return event.type === 'completion' && event.turn === turn;
}

/** True for the end of a turn that gave no answer; errors of one that did, the agent has coped with. */
export function isWithoutAnswer(event: WireEvent): boolean {
  if (event.type === 'status') return event['status'] !== 'ended';
  return ['error', 'failed', 'cancelled', 'interrupted'].includes(String(event['stop_reason']));
}

function head(full: string): string {
  const lines = full.split('\n');
  const shown = lines.slice(0, 4).map((line) => line.slice(0, 200));
  return lines.length > 4 ? `${shown.join('\n  ')}\n  … ${lines.length - 4} more lines` : shown.join('\n  ');
}
