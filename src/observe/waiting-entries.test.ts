import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry } from './audit-chain.ts';
import { entriesIn, WaitingEntries } from './waiting-entries.ts';

const entry = (n: number): Entry => [n, 'half \ud800', null];
const all = (portions: readonly string[]): Entry[] => portions.flatMap(entriesIn);

function filled(size: number): WaitingEntries {
  const waiting = new WaitingEntries();
  for (let n = 0; n < size; n++) waiting.push(entry(n));
  return waiting;
}

test('entries are taken in the order in which they came, each once', () => {
  const waiting = filled(1000);
  assert.equal(waiting.size, 1000);
  assert.deepEqual(
    all(waiting.take()),
    Array.from({ length: 1000 }, (_, n) => entry(n)),
  );
  assert.equal(waiting.size, 0);
  assert.deepEqual(waiting.take(), []);
});

test('what could not be written stays before what came since', () => {
  const waiting = filled(300);
  const failed = waiting.take().slice(1);
  waiting.push(entry(300));
  waiting.putBack(failed, 10_000);
  assert.equal(waiting.size, 45);
  assert.deepEqual(
    all(waiting.take()).map(([n]) => n),
    Array.from({ length: 45 }, (_, i) => 256 + i),
  );
});

test('no more wait than memory can bear, and the oldest are kept', () => {
  const waiting = new WaitingEntries();
  waiting.putBack(filled(2000).take(), 512);
  assert.equal(waiting.size, 512);
  assert.deepEqual(all(waiting.take()).at(-1), entry(511));
});
