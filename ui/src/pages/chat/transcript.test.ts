import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from '../../../../test/kit/fast-check.ts';
import type { SessionEvent } from '../../api/shapes.ts';
import { opensPalette } from './plus-trigger.ts';
import { emptyTranscript, withDelta, withEvent } from './transcript.ts';

const event = (index: number, type: string, fields: object = {}): SessionEvent => ({
  index,
  type,
  at: '2026-11-15T10:00:00Z',
  session_id: 'ses_1',
  turn: 1,
  ...fields,
});
const taken = (events: SessionEvent[]) => events.reduce(withEvent, emptyTranscript);

describe('a transcript', () => {
  test('puts a result to its call, also when two calls are open', () => {
    const { items } = taken([
      event(0, 'tool_call', { call_id: 'a', tool: 'x', arguments: {} }),
      event(1, 'tool_call', { call_id: 'b', tool: 'y', arguments: {} }),
      event(2, 'tool_result', { call_id: 'b', is_error: true, text: 'no' }),
    ]);
    assert.deepEqual(
      items.map((item) => item.kind === 'tool' && [item.tool, item.result, item.isError]),
      [
        ['x', undefined, undefined],
        ['y', 'no', true],
      ],
    );
  });

  test('puts a request to the caller under the call that makes it, whichever comes first', () => {
    const ask = (index: number, id: string, text: string) =>
      event(index, 'caller_tool_request', { request_id: id, tool: 'ask_user', arguments: { text }, deadline: '' });
    const call = (index: number, id: string, text: string) =>
      event(index, 'tool_call', { call_id: id, tool: 'web_ask_user', arguments: { text } });
    const said = event(1, 'message', { role: 'agent', text: 'hm', message_id: 'm' });
    const shown = (events: SessionEvent[]) => {
      const { items } = taken(events);
      assert.deepEqual(
        items.map((item) => item.index),
        items.map((item) => item.index).sort((a, b) => a - b),
      );
      return items.map((item) => (item.kind === 'caller' ? item.requestId : item.kind === 'tool' ? item.callId : '-'));
    };
    assert.deepEqual(shown([ask(0, 'q', 'a'), said, call(2, 'c', 'a')]), ['-', 'c', 'q']);
    assert.deepEqual(shown([call(0, 'c', 'a'), said, ask(2, 'q', 'a')]), ['c', '-', 'q']);
    const twins = [call(0, 'c1', 'a'), ask(1, 'q1', 'a'), ask(2, 'q2', 'a'), call(3, 'c2', 'a'), ask(4, 'q3', 'b')];
    assert.deepEqual(shown(twins), ['c1', 'q1', 'c2', 'q2', 'q3']);
  });

  test('says of a call that was open when its turn ended that it has no result', () => {
    for (const end of [
      event(2, 'completion', { stop_reason: 'cancelled', text: '' }),
      event(2, 'status', { status: 'failed', reason: 'the agent died' }),
    ]) {
      const { items } = taken([
        event(0, 'tool_call', { call_id: 'a', tool: 'x', arguments: {} }),
        event(1, 'status', { status: 'running' }),
        end,
      ]);
      assert.equal(items[0]?.kind === 'tool' && items[0].isCut, true);
    }
  });

  test('takes every event once, however often and in whatever pieces a stream is replayed', () => {
    const log = Array.from({ length: 12 }, (_, index) =>
      event(index, 'message', { role: 'agent', text: `${index}`, message_id: `${index}` }),
    );
    fc.assert(
      fc.property(fc.array(fc.nat(12), { maxLength: 6 }), (starts) => {
        let transcript = emptyTranscript;
        for (const start of starts)
          transcript = log
            .slice(Math.min(start, transcript.lastIndex + 1))
            .slice(0, 5)
            .reduce(withEvent, transcript);
        transcript = log.slice(transcript.lastIndex + 1).reduce(withEvent, transcript);
        return transcript.items.map((item) => item.index).join() === log.map((each) => each.index).join();
      }),
    );
  });

  test('shows what is being said until the whole is stored', () => {
    const live = ['Hel', 'lo'].reduce(
      (at, text) => withDelta(at, { of: 'message', message_id: 'm', text }),
      emptyTranscript,
    );
    assert.equal(live.live[0]?.text, 'Hello');
    const stored = withEvent(live, event(0, 'message', { role: 'agent', text: 'Hello', message_id: 'm' }));
    assert.deepEqual([stored.live.length, stored.items.length], [0, 1]);
  });

  test('closes a question when its answer is in the log', () => {
    const { items } = taken([
      event(0, 'caller_tool_request', { request_id: 'r', tool: 'ask_user', arguments: {} }),
      event(1, 'caller_tool_answer', { request_id: 'r', outcome: 'result' }),
    ]);
    assert.equal(items[0]?.kind === 'caller' && items[0].outcome, 'result');
  });

  test('passes over kinds of events that it does not know', () => {
    assert.equal(taken([event(0, 'something_new')]).lastIndex, 0);
  });
});

describe('a plus sign', () => {
  test('opens the palette at the start of a line and after a space', () => {
    for (const before of ['', 'hello ', 'hello\n', 'a\n\n', 'see `code` '])
      assert.equal(opensPalette(before), true, JSON.stringify(before));
  });
  test('is only a character elsewhere, and inside code', () => {
    for (const before of ['1', 'c', '```\nx ', '```py\n', 'see `a '])
      assert.equal(opensPalette(before), false, JSON.stringify(before));
  });
});
