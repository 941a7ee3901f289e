import { test } from 'node:test';
import assert from 'node:assert/strict';
import { itemReader } from './answer-stream.ts';

function itemsOf(kind: 'events' | 'lines', ...chunks: string[]): string[] {
  const items: string[] = [];
  const reader = itemReader(kind, (text) => items.push(text));
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  reader.end();
  return items;
}

test('lines end with CR, LF or both, wherever the pieces are cut', () => {
  const whole = 'a\r\nb\rc\n\nd\r';
  for (let cut = 0; cut <= whole.length; cut++)
    assert.deepEqual(itemsOf('lines', whole.slice(0, cut), whole.slice(cut)), ['a', 'b', 'c', 'd']);
});

test('events are their data, with the lines of one event together', () => {
  assert.deepEqual(itemsOf('events', 'data: a\ndata:b\r\n\r\nevent: x\n\ndata: c\n\ndata: [DONE]\n\n'), ['a\nb', 'c']);
});

test('a mark of the encoding before the first event is no part of it, however it is cut', () => {
  for (const kind of ['events', 'lines'] as const) {
    const text = kind === 'events' ? 'data: a\n\ndata: b\n\n' : 'a\nb';
    assert.deepEqual(itemsOf(kind, '\ufeff', text), ['a', 'b']);
    assert.deepEqual(itemsOf(kind, `\ufeff${text}`), ['a', 'b']);
  }
});

test('a piece of millions of lines is read in no time', () => {
  const startedAt = performance.now();
  assert.equal(itemsOf('lines', '1\n'.repeat(1_000_000)).length, 1_000_000);
  assert.ok(performance.now() - startedAt < 20_000);
});
