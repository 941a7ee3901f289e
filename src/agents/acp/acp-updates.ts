import type { SessionUpdate, ToolCall } from '@agentclientprotocol/sdk';
import { isObject, jsonText } from '../../schema/index.ts';
import type { Draft, Held } from '../agent-state.ts';
import { list, text } from '../json-rpc.ts';

const maxResultText = 256 * 1024;
const maxOpenCalls = 200;
const maxIdLength = 256;

/** A tool call of the agent as far as it is known; told once its arguments are, or can no longer come. */
export interface OpenCall {
  id: string;
  tool: string;
  arguments?: unknown;
  isTold?: boolean;
}

export interface HoldsCalls extends Held {
  /** The oldest first. A list, because it is copied with every line, and a hostile agent leaves many calls open. */
  calls: readonly OpenCall[];
}

/** The calls of a stored state; a turn that began under an earlier version held them by their ids. */
export const openCalls = (stored: HoldsCalls['calls'] | Record<string, Omit<OpenCall, 'id'>>): readonly OpenCall[] =>
  Array.isArray(stored) ? stored : Object.entries(stored).map(([id, call]) => ({ ...call, id }));

type Kind = SessionUpdate['sessionUpdate'];

/** Turns one `session/update` into events. Fields that are missing or of another type are passed over. */
export function takeUpdate(step: Draft<HoldsCalls>, update: Record<string, unknown>): void {
  switch (update['sessionUpdate'] as Kind) {
    case 'agent_message_chunk':
      return step.say('message', blockText(update['content']));
    case 'agent_thought_chunk':
      return step.say('thought', blockText(update['content']));
    case 'tool_call':
    case 'tool_call_update':
      return takeCall(step, update);
    case 'plan':
      return step.emit({
        type: 'plan',
        entries: list(update['entries']).map((entry) => ({
          content: text(entry['content']) ?? '',
          status: text(entry['status']) ?? 'pending',
          ...(text(entry['priority']) === undefined ? {} : { priority: text(entry['priority'])! }),
        })),
      });
    default:
  }
}

function takeCall(step: Draft<HoldsCalls>, update: Record<string, unknown>): void {
  const id = text(update['toolCallId']);
  if (id === undefined || id.length > maxIdLength) return;
  const call = noteCall(step, id, update);
  const status = update['status'] as ToolCall['status'];
  const isOver = status === 'completed' || status === 'failed';
  if (isOver || status === 'in_progress' || call.arguments !== undefined) tellCall(step, id);
  if (!isOver) return;
  step.emit({ type: 'tool_result', call_id: id, is_error: status === 'failed', text: resultText(update) });
  step.inner.calls = step.inner.calls.filter((each) => each.id !== id);
}

/** Adds what an update or a permission request says about a call. */
export function noteCall(step: Draft<HoldsCalls>, id: string, about: Record<string, unknown>): OpenCall {
  const before = callOf(step, id);
  const input = about['rawInput'];
  const call: OpenCall = { ...before, id, tool: text(about['name']) ?? before?.tool ?? text(about['title']) ?? 'tool' };
  // codex wraps the call of an MCP tool; what counts is inside.
  if (isObject(input) && typeof input['server'] === 'string' && typeof input['tool'] === 'string') {
    call.tool = input['tool'];
    call.arguments = input['arguments'] ?? {};
  } else if (input !== undefined && input !== null && !isEmpty(input) && !before?.isTold) call.arguments = input;
  const others = step.inner.calls.filter((each) => each.id !== id);
  // Calls that never end are forgotten eventually.
  step.inner.calls = [...others.slice(1 - maxOpenCalls), call];
  return call;
}

/** Says that a call was made, once. */
export function tellCall(step: Draft<HoldsCalls>, id: string): void {
  const call = callOf(step, id);
  if (!call || call.isTold) return;
  step.emit({ type: 'tool_call', call_id: id, tool: call.tool, arguments: call.arguments ?? {} });
  // Once reported, it is dropped: otherwise it would be stored again with every step.
  const told: OpenCall = { id, tool: call.tool, isTold: true };
  step.inner.calls = step.inner.calls.map((each) => (each === call ? told : each));
}

const callOf = (step: Draft<HoldsCalls>, id: string): OpenCall | undefined =>
  step.inner.calls.find((each) => each.id === id);

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0;

function resultText(update: Record<string, unknown>): string {
  const parts = list(update['content']).map((item) =>
    item['type'] === 'diff'
      ? `${text(item['path']) ?? ''}\n${text(item['newText']) ?? ''}`
      : blockText(item['content']),
  );
  const shown = parts.join('\n') || jsonText(update['rawOutput'] ?? '');
  return shown.length > maxResultText
    ? `${shown.slice(0, maxResultText)}\n[cut at ${maxResultText} characters]`
    : shown;
}

function blockText(block: unknown): string {
  if (!isObject(block)) return '';
  if (block['type'] === 'text') return text(block['text']) ?? '';
  if (block['type'] === 'resource_link') return text(block['uri']) ?? '';
  const resource = block['resource'];
  if (isObject(resource)) return text(resource['text']) ?? text(resource['uri']) ?? '';
  return typeof block['type'] === 'string' ? `[${block['type']}]` : '';
}
