import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BoxDoor } from '../../src/sessions/index.ts';
import { placeAt } from '../../src/sessions/place.ts';
import { until } from '../kit/until.ts';
import { completion, openRoom, owner, status, type Room } from './room.ts';

const spawn = async (room: Room, message: string, more: object = {}): Promise<string> =>
  (await room.sessions.spawn(owner, { project_id: room.project.id, message, ...more })).session_id;

function countedDoor(): BoxDoor & { opened: Set<string> } {
  const opened = new Set<string>();
  return {
    opened,
    async open({ folder }) {
      opened.add(folder);
      return { close: async () => void opened.delete(folder) };
    },
  };
}

test('a server that stops closes every door, also of sandboxes that were starting when their engine went away', async () => {
  const door = countedDoor();
  const room = await openRoom({ doors: () => [door] });
  const release = room.driver.holdStarts();
  for (const message of ['say one', 'say two', 'say three']) await spawn(room, message);
  await until(() => door.opened.size === 3);
  room.driver.vanish();
  release();
  const begun = performance.now();
  await room.sessions.stop();
  assert.deepEqual([...door.opened], []);
  assert.ok(performance.now() - begun < 20_000, 'it does not wait for an agent that cannot come any more');
  await room.close();
});

test('a slot whose sandbox dies before its agent is ready is given up at once', async () => {
  const door = countedDoor();
  const room = await openRoom({ doors: () => [door] });
  const id = await spawn(room, 'say one');
  await room.until(id, status('idle'));
  await until(() => door.opened.size === 2);
  const box = (await room.ports.tables.get(id))!.box!.id;
  await until(() => room.driver.running().length === 2);
  for (const each of room.driver.running()) if (each !== box) await room.driver.kill(each);
  await until(() => door.opened.size === 1, 20_000);
  await room.close();
});

test('a sandbox that is still being started when the server stops is not left behind, and the next server begins its session', async () => {
  let room = await openRoom();
  const release = room.driver.holdStarts();
  const id = await spawn(room, 'say begun');
  await until(async () => (await room.ports.tables.get(id))!.place !== null);
  const stopped = room.sessions.stop();
  release();
  await stopped;
  assert.deepEqual(room.driver.running(), []);
  assert.equal((await room.ports.tables.get(id))!.status, 'starting');
  room = await room.again();
  const done = await room.until(id, completion(1));
  assert.equal(done.type === 'completion' && done.text, 'begun');
  await room.close();
});

test('a sandbox that was left in a place, known to no session, is ended before a session begins there', async () => {
  const room = await openRoom();
  const id = await spawn(room, 'say one');
  await room.until(id, status('idle'));
  await room.sessions.end(owner, id);
  const place = placeAt(room.ports.runFolder, (await room.ports.tables.get(id))!.place!);
  await room.driver.start({
    id: 'box_left',
    labels: { run: room.ports.runFolder, place: place.name },
    mcp: place.mcp,
    spool: place.spool,
    workspace: room.home,
    env: {},
    limits: { memoryMb: 512, pids: 64, cpus: 1 },
    level: 'basic',
  });
  await room.sessions.message(owner, { session_id: id, message: 'say two' });
  const done = await room.until(id, completion(2));
  assert.equal(done.type === 'completion' && done.text, 'two');
  assert.ok(!room.driver.running().includes('box_left'));
  await room.close();
});

test('a message that comes while the server stops is kept for the next one', async () => {
  let room = await openRoom();
  const release = room.driver.holdStarts();
  const [id] = await Promise.all([spawn(room, 'say kept'), Promise.resolve().then(() => room.sessions.stop())]);
  release();
  assert.deepEqual(room.driver.running(), []);
  room = await room.again();
  assert.equal((await room.until(id, completion(1))).type, 'completion');
  await room.close();
});
