import type { SessionEvent, Usage } from '../../api/shapes.ts';

interface Base {
  key: string;
  at: string;
  index: number;
}
export type Item = Base &
  (
    | { kind: 'message'; role: 'user' | 'agent'; text: string; files: string[] }
    | { kind: 'thought'; text: string }
    | {
        kind: 'tool';
        callId: string;
        tool: string;
        args: unknown;
        result?: string;
        isError?: boolean;
        endedAt?: string;
        /** The turn was over before it had a result. */
        isCut?: boolean;
      }
    | {
        kind: 'permission';
        requestId: string;
        tool: string;
        options: PermissionOption[];
        deadline: string;
        choice?: string;
      }
    | {
        kind: 'caller';
        requestId: string;
        tool: string;
        args: Record<string, unknown>;
        deadline: string;
        outcome?: string;
        /** The call of the agent that it answers, once both are known. */
        callId?: string;
      }
    | { kind: 'child'; childId: string; status: string }
    | { kind: 'over'; status: string; reason: string }
    | { kind: 'problem'; text: string }
  );

interface PermissionOption {
  id: string;
  name: string;
  kind?: string;
}

export interface PlanEntry {
  content: string;
  status: string;
}

export interface Transcript {
  items: Item[];
  plan: PlanEntry[];
  usage: Usage | undefined;
  status: string;
  /** The last stored event that was taken in; a stream resumes after it. */
  lastIndex: number;
  /** Pieces of what is being said right now, gone as soon as the whole is stored. */
  live: { of: 'message' | 'thought'; messageId: string; text: string }[];
}

export const emptyTranscript: Transcript = {
  items: [],
  plan: [],
  usage: undefined,
  status: '',
  lastIndex: -1,
  live: [],
};

/** Takes one stored event in. An event that was taken before changes nothing. */
export function withEvent(before: Transcript, event: SessionEvent): Transcript {
  if (event.index <= before.lastIndex) return before;
  const next = { ...before, lastIndex: event.index };
  const base = { key: `${event.index}`, at: event.at, index: event.index };
  const text = (name: string): string => String(event[name] ?? '');
  const add = (item: Item): Transcript => ({ ...next, items: [...before.items, item] });
  const change = (matches: (item: Item) => boolean, patch: Partial<Item>): Transcript => ({
    ...next,
    items: before.items.map((item) => (matches(item) ? ({ ...item, ...patch } as Item) : item)),
  });
  switch (event.type) {
    case 'status': {
      const status = text('status');
      const moved = { ...next, status, live: status === 'running' ? before.live : [] };
      if (!isOver(status)) return moved;
      const over: Item = { ...base, kind: 'over', status, reason: text('reason') };
      return { ...moved, items: [...cutShort(before.items), over] };
    }
    case 'message': {
      const files = ((event['attachments'] as { name: string }[] | undefined) ?? []).map((file) => file.name);
      const added = add({
        ...base,
        kind: 'message',
        role: event['role'] === 'user' ? 'user' : 'agent',
        text: text('text'),
        files,
      });
      return { ...added, live: before.live.filter((piece) => piece.of !== 'message') };
    }
    case 'thought':
      return {
        ...add({ ...base, kind: 'thought', text: text('text') }),
        live: before.live.filter((piece) => piece.of !== 'thought'),
      };
    case 'tool_call': {
      const call: Item = {
        ...base,
        kind: 'tool',
        callId: text('call_id'),
        tool: text('tool'),
        args: event['arguments'],
      };
      // A request to the caller can overtake the call that makes it, for they come by different ways.
      const early = before.items.find((item) => item.kind === 'caller' && !item.callId && isAskOf(call, item));
      if (!early) return add(call);
      const after = { ...early, callId: call.callId, index: event.index + 0.25 } as Item;
      return { ...next, items: [...before.items.filter((item) => item !== early), call, after] };
    }
    case 'tool_result':
      return change((item) => item.kind === 'tool' && item.callId === text('call_id') && item.result === undefined, {
        result: text('text'),
        isError: event['is_error'] === true,
        endedAt: event.at,
      });
    case 'plan':
      return { ...next, plan: (event['entries'] as PlanEntry[] | undefined) ?? [] };
    case 'permission_request':
      return add({
        ...base,
        kind: 'permission',
        requestId: text('request_id'),
        tool: text('tool'),
        options: (event['options'] as PermissionOption[] | undefined) ?? [],
        deadline: text('deadline'),
      });
    case 'permission_answer':
      return change((item) => item.kind === 'permission' && item.requestId === text('request_id'), {
        choice: text('choice'),
      });
    case 'caller_tool_request': {
      const ask: Item = {
        ...base,
        kind: 'caller',
        requestId: text('request_id'),
        tool: text('tool'),
        args: (event['arguments'] as Record<string, unknown>) ?? {},
        deadline: text('deadline'),
      };
      const taken = new Set(before.items.map((item) => (item.kind === 'caller' ? item.callId : undefined)));
      const call = before.items.find((item) => item.kind === 'tool' && !taken.has(item.callId) && isAskOf(item, ask));
      return add(call?.kind === 'tool' ? { ...ask, callId: call.callId } : ask);
    }
    case 'caller_tool_answer':
      return change((item) => item.kind === 'caller' && item.requestId === text('request_id'), {
        outcome: text('outcome'),
      });
    case 'child':
      return before.items.some((item) => item.kind === 'child' && item.childId === event['child_session_id'])
        ? change((item) => item.kind === 'child' && item.childId === event['child_session_id'], {
            status: text('status'),
          })
        : add({ ...base, kind: 'child', childId: text('child_session_id'), status: text('status') });
    case 'usage':
      return { ...next, usage: event as Usage };
    case 'completion':
      return { ...next, live: [], items: cutShort(before.items) };
    case 'error':
      return add({ ...base, kind: 'problem', text: text('message') });
    default:
      return next;
  }
}

/** Calls that are still open when a turn is over will never have a result. */
const cutShort = (items: Item[]): Item[] =>
  items.some(isOpenCall) ? items.map((item) => (isOpenCall(item) ? { ...item, isCut: true } : item)) : items;

const isOpenCall = (item: Item): boolean => item.kind === 'tool' && item.result === undefined && !item.isCut;

/** True when a request to the caller is what an open call of the agent asks for. */
const isAskOf = (call: Item, ask: Item): boolean =>
  call.kind === 'tool' &&
  ask.kind === 'caller' &&
  isOpenCall(call) &&
  call.tool.endsWith(`_${ask.tool}`) &&
  JSON.stringify(call.args) === JSON.stringify(ask.args);

/** Takes in a piece that is shown while it is said and never stored. */
export function withDelta(
  before: Transcript,
  delta: { of: 'message' | 'thought'; message_id: string; text: string },
): Transcript {
  const at = before.live.findIndex((piece) => piece.of === delta.of && piece.messageId === delta.message_id);
  const live =
    at < 0
      ? [...before.live, { of: delta.of, messageId: delta.message_id, text: delta.text }]
      : before.live.map((piece, index) => (index === at ? { ...piece, text: piece.text + delta.text } : piece));
  return { ...before, live };
}

export const isBusy = (status: string): boolean => status === 'starting' || status === 'running';
export const isOver = (status: string): boolean => status === 'ended' || status === 'failed' || status === 'timed_out';
