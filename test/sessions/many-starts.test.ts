import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import type { BoxDoor } from '../../src/sessions/index.ts';
import { until } from '../kit/until.ts';
import { completion, openRoom, owner } from './room.ts';

const atOnce = Math.max(4, 2 * availableParallelism());

test('many sessions asked for at once start a few at a time, none fails, and those that wait can be ended', async () => {
  let opened = 0;
  const door: BoxDoor = {
    async open() {
      opened++;
      return { close: async () => {} };
    },
  };
  const room = await openRoom({ limits: { sessionsPerProject: 100 }, doors: () => [door] });
  const release = room.driver.holdStarts();
  const spawn = async (n: number): Promise<string> =>
    (await room.sessions.spawn(owner, { project_id: room.project.id, message: `say ${n}` })).session_id;
  const ids = await Promise.all(Array.from({ length: atOnce + 4 }, (_, n) => spawn(n)));
  await until(() => opened === atOnce);
  const waiting = [];
  for (const id of ids) if (!(await room.ports.tables.get(id))!.place) waiting.push(id);
  assert.equal(waiting.length, 4, 'the others have no place yet');
  const [ended] = waiting;
  await room.sessions.end(owner, ended!);
  assert.equal(opened, atOnce);
  release();
  for (const id of ids) if (id !== ended) assert.equal((await room.until(id, completion(1))).type, 'completion');
  await room.close();
});
