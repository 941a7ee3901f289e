import { test } from 'node:test';
import assert from 'node:assert/strict';
import { atEndOfTurn } from './end-of-turn.ts';

test("one that cannot be sent takes nobody else's answer with it, and is heard of", async () => {
  const sent: number[] = [];
  const heard: string[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').once('uncaughtException', (error) => heard.push(error.message));
  try {
    await new Promise<void>((resolve) => {
      atEndOfTurn(() => sent.push(1));
      atEndOfTurn(() => {
        throw new Error('gone');
      });
      atEndOfTurn(() => sent.push(3));
      atEndOfTurn(resolve);
    });
  } finally {
    for (const each of others) process.on('uncaughtException', each);
  }
  assert.deepEqual(sent, [1, 3]);
  assert.deepEqual(heard, ['gone']);
});
