import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startQueue } from './start-queue.ts';

const never = new AbortController().signal;
const isOpen = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => false), new Promise<boolean>((resolve) => setImmediate(() => resolve(true)))]);

/** Enters and remembers in which order places were given. */
function visitors(queue = startQueue(2)) {
  const order: string[] = [];
  const places = new Map<string, () => void>();
  const enter = async (projectId: string, name: string, signal = never, last = false): Promise<void> => {
    const leave = await queue.enter(projectId, signal, last);
    if (!leave) return void order.push(`${name} gave up`);
    order.push(name);
    places.set(name, leave);
  };
  return { order, enter, leave: (name: string) => places.get(name)!() };
}

describe('the queue of those that start', () => {
  test('lets only so many in at a time, and the next when one is up', async () => {
    const { order, enter, leave } = visitors();
    await enter('p', 'a');
    await enter('p', 'b');
    const third = enter('p', 'c');
    assert.ok(await isOpen(third));
    leave('a');
    leave('a');
    await third;
    const fourth = enter('p', 'd');
    assert.ok(await isOpen(fourth), 'a place given back twice is one place');
    leave('b');
    await fourth;
    assert.deepEqual(order, ['a', 'b', 'c', 'd']);
  });

  test('gives projects their turns: one that asks for many does not keep another waiting', async () => {
    const { order, enter, leave } = visitors(startQueue(1));
    await enter('many', 'm0');
    const all = [enter('many', 'm1'), enter('many', 'm2'), enter('many', 'm3'), enter('one', 'o1')];
    for (const name of ['m0', 'm1', 'o1', 'm2', 'm3']) {
      leave(name);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    assert.deepEqual(order, ['m0', 'm1', 'o1', 'm2', 'm3']);
  });

  test('serves who came to be last when nobody else waits', async () => {
    const { order, enter, leave } = visitors(startQueue(1));
    await enter('p', 'a');
    const all = [enter('p', 'spare', never, true), enter('p', 'b')];
    leave('a');
    await all[1];
    leave('b');
    await all[0];
    assert.deepEqual(order, ['a', 'b', 'spare']);
  });

  test('forgets who does not want a place any more', async () => {
    const { order, enter, leave } = visitors(startQueue(1));
    const stop = new AbortController();
    await enter('p', 'a');
    const all = [enter('p', 'b', stop.signal), enter('p', 'c')];
    stop.abort();
    await all[0];
    leave('a');
    await all[1];
    await enter('p', 'late', stop.signal);
    assert.deepEqual(order, ['a', 'b gave up', 'c', 'late gave up']);
  });

  test('does not wait for ever for one that never is up', async () => {
    const { order, enter } = visitors(startQueue(1, 5));
    const hold = setInterval(() => {}, 1000);
    await enter('p', 'a');
    await enter('p', 'b');
    clearInterval(hold);
    assert.deepEqual(order, ['a', 'b']);
  });
});
