import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Outbox } from './outbox.ts';

const call = (id: number): object => ({ jsonrpc: '2.0', id, method: 'tools/call' });

const clock = { ms: 100 };
// What a failed test leaves behind would wait for ever in a time that stands still.
afterEach(() => (clock.ms += 1000));

function opened() {
  const written: string[] = [];
  const ids = (text: string): string => [...text.matchAll(/"id":(\d+)\D*\n/g)].map((match) => match[1]).join();
  const outbox = new Outbox(
    (text) => written.push(ids(text)),
    () => clock.ms,
  );
  const turns = async (): Promise<void> => {
    for (let i = 0; i < 5; i++) await nextTurn();
  };
  return { outbox, written, turns };
}

test('what comes in one turn is written at its end, in one piece', async () => {
  const { outbox, written, turns } = opened();
  outbox.add(call(1));
  outbox.add(call(2));
  assert.deepEqual(written, []);
  await turns();
  assert.deepEqual(written, ['1,2']);
});

test('while a quick server works, what comes waits for its answer', async () => {
  const { outbox, written, turns } = opened();
  outbox.add(call(1));
  outbox.add(call(2));
  await turns();
  outbox.answered();
  clock.ms += 0.02;
  outbox.add(call(3));
  await turns();
  outbox.add(call(4));
  await turns();
  assert.deepEqual(written, ['1,2']);
  clock.ms += 0.02;
  outbox.answered();
  await turns();
  assert.deepEqual(written, ['1,2', '3,4']);
});

test('nobody waits for long, for a slow server, or when nothing is open', async () => {
  const { outbox, written, turns } = opened();
  const add = async (id: number): Promise<void> => {
    clock.ms += 0.01;
    outbox.add(call(id));
    await turns();
  };
  await add(1);
  outbox.answered();
  // Nothing is open.
  await add(2);
  assert.deepEqual(written, ['1', '2']);
  // It has just answered one, and one is open: a tenth of a millisecond.
  await add(3);
  assert.deepEqual(written, ['1', '2']);
  clock.ms += 0.2;
  await turns();
  assert.deepEqual(written, ['1', '2', '3']);
  // Its last word is long ago.
  clock.ms += 10;
  await add(4);
  await add(5);
  assert.deepEqual(written, ['1', '2', '3', '4', '5']);
  // Whoever is cancelled is not waited for.
  for (let i = 0; i < 4; i++) outbox.add({ method: 'notifications/cancelled' });
  await turns();
  clock.ms += 10;
  outbox.answered();
  await add(6);
  assert.equal(written.at(-1), '6');
});

test('what there is can be written at once', async () => {
  const { outbox, written, turns } = opened();
  outbox.add(call(1));
  outbox.flush();
  outbox.flush();
  await turns();
  assert.deepEqual(written, ['1']);
});
