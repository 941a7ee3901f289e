import { isObject, numberOf } from '../../schema/index.ts';
import type { Draft } from '../agent-state.ts';
import { list, text } from '../json-rpc.ts';
import type { DroidInner } from './droid.ts';

const maxTold = 500;

/** Turns one of droid's session notifications into events; kinds that we do not know are passed over. */
export function takeNotification(step: Draft<DroidInner>, notification: Record<string, unknown>): void {
  switch (notification['type']) {
    case 'assistant_text_delta':
      step.inner.hasDeltas = true;
      return step.say('message', text(notification['textDelta']) ?? '');
    case 'thinking_text_delta':
      return step.say('thought', text(notification['textDelta']) ?? '');
    case 'create_message':
      return isObject(notification['message']) ? takeMessage(step, notification['message']) : undefined;
    case 'tool_call':
      return isObject(notification['toolUse']) ? tellCall(step, notification['toolUse']) : tellCall(step, notification);
    case 'tool_result':
      return step.emit({
        type: 'tool_result',
        call_id: text(notification['toolUseId']) ?? text(notification['toolCallId']) ?? '',
        is_error: notification['isError'] === true,
        text: contentText(notification['content'] ?? notification['result']),
      });
    case 'error':
      return step.emit({
        type: 'error',
        code: 'agent.failed',
        message: `The agent failed: ${text(notification['message']) ?? 'unknown error'}`,
      });
    case 'droid_working_state_changed':
      if (notification['newState'] !== 'idle') step.inner.wasWorking = true;
      else if (step.inner.wasWorking) endTurn(step, 'end_turn');
      return;
    case 'agent_turn_completed':
      takeUsage(step, notification['tokenUsage']);
      return endTurn(step, reasonOf(text(notification['reason']) ?? 'completed'));
    default:
  }
}

function endTurn(step: Draft<DroidInner>, stopReason: string): void {
  if (step.state.phase !== 'busy') return;
  step.inner.asks = {};
  step.inner.told = [];
  step.complete(step.inner.isCancelled ? 'cancelled' : stopReason);
}

function reasonOf(reason: string): string {
  if (reason === 'completed') return 'end_turn';
  return reason === 'permission_rejected' ? 'refusal' : reason;
}

function takeMessage(step: Draft<DroidInner>, message: Record<string, unknown>): void {
  if (message['role'] !== 'assistant') return;
  for (const block of list(message['content'])) {
    if (block['type'] === 'tool_use') tellCall(step, block);
    // The deltas have already reported it.
    if (block['type'] === 'text' && !step.inner.hasDeltas) step.say('message', text(block['text']) ?? '');
  }
  step.flush();
  step.inner.hasDeltas = false;
}

function tellCall(step: Draft<DroidInner>, use: Record<string, unknown>): void {
  const id = text(use['id']) ?? text(use['toolUseId']) ?? text(use['toolCallId']);
  if (id === undefined || step.inner.told.includes(id)) return;
  step.inner.told = [...step.inner.told.slice(1 - maxTold), id];
  step.emit({
    type: 'tool_call',
    call_id: id,
    tool: text(use['name']) ?? text(use['toolName']) ?? 'tool',
    arguments: use['input'] ?? {},
  });
}

function takeUsage(step: Draft<DroidInner>, usage: unknown): void {
  if (!isObject(usage)) return;
  const count = (name: string): number => numberOf(usage[name]) || 0;
  step.emit({ type: 'usage', input_tokens: count('inputTokens'), output_tokens: count('outputTokens'), cost_usd: 0 });
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content))
    return list(content)
      .map((block) => text(block['text']) ?? '')
      .join('\n');
  return content === undefined ? '' : JSON.stringify(content);
}
