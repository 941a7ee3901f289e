import assert from 'node:assert/strict';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { SessionEvent } from '../../src/schema/index.ts';
import { until } from '../kit/until.ts';
import { admin, completion, isGapless, openRoom, owner, status, type Room } from './room.ts';

let room: Room;
beforeEach(async () => (room = await openRoom()));
afterEach(() => room.close());

const spawn = async (message: string, more: object = {}): Promise<string> =>
  (await room.sessions.spawn(owner, { project_id: room.project.id, message, ...more })).session_id;
const boxOf = async (id: string): Promise<string> => (await room.ports.tables.get(id))!.box!.id;
const userMessage = (event: SessionEvent): boolean => event.type === 'message' && event.role === 'user';

describe('after a restart of the server', () => {
  test('a turn that was under way completes, with a log without gap or double', async () => {
    const id = await spawn('wait 1500');
    await room.until(id, userMessage);
    const box = await boxOf(id);
    room = await room.again('crash');
    assert.equal(await boxOf(id), box);
    const done = await room.until(id, completion(1));
    assert.match(done.type === 'completion' ? done.text : '', /waited/);
    await room.until(id, status('idle'));
    const events = await room.events(id);
    assert.ok(isGapless(events));
    assert.deepEqual(
      events.filter((event) => event.type !== 'status').map((event) => event.type),
      ['message', 'message', 'completion'],
    );
    await room.sessions.message(owner, { session_id: id, message: 'say alive' });
    assert.equal((await room.until(id, completion(2))).type, 'completion');
    assert.equal(await boxOf(id), box);
  });

  test('the log of a session that ended lies in a file of its project, is read as before, and goes on', async () => {
    const id = await spawn('say one');
    await room.until(id, status('idle'));
    await room.sessions.end(owner, id);
    const before = await room.events(id);
    const young = await spawn('say two', { create_workspace: true });
    await room.until(young, status('idle'));
    await room.log.write(({ db }) => db.run("UPDATE sessions SET updated_at = '2020-01-01T00:00:00.000Z'"));
    room = await room.again();
    await until(() => !room.log.inTable().includes(id));
    assert.ok(room.log.inTable().includes(young), 'what lives stays in the database');
    assert.equal((await readdir(join(room.home, 'projects', room.project.id, 'logs'))).length, 1);
    assert.deepEqual((await room.sessions.events(owner, id, -1, 1000)).events, before);
    const { last_event_index } = await room.sessions.message(owner, { session_id: id, message: 'say three' });
    assert.equal(last_event_index, before.length - 1);
    await room.until(id, completion(2));
    assert.ok(isGapless(await room.events(id)));
    await room.sessions.end(owner, id);
    await room.sessions.cleanup(owner, { project_id: room.project.id, maxAgeMs: -1 });
    await until(async () => (await readdir(join(room.home, 'projects', room.project.id, 'logs'))).length === 0);
  });

  test('a utility sandbox that someone started runs on, and a command finds it', async () => {
    const { id } = await room.sessions.utility.start(room.project);
    for (const how of ['stop', 'crash'] as const) {
      room = await room.again(how);
      await until(() => room.sessions.utility.status(room.project.id) === 'running');
      assert.deepEqual(room.driver.running(), [id]);
      assert.equal(
        (
          await room.sessions.utility.exec(room.project, undefined, {
            command: ['true'],
            timeoutMs: 60_000,
            maxBytes: 1000,
          })
        ).exit_code,
        0,
      );
    }
    await room.sessions.utility.stop(room.project.id);
    assert.deepEqual(room.driver.running(), []);
    room = await room.again();
    await room.sessions.stop();
    assert.deepEqual(room.driver.running(), []);
  });

  test('a utility sandbox that was lost meanwhile is started anew; one that only a command needed is gone', async () => {
    const { id } = await room.sessions.utility.start(room.project);
    const { id: workspace } = await room.projects.createWorkspace(owner, room.project.id, {});
    await room.sessions.utility.exec(room.project, workspace, { command: ['true'], timeoutMs: 60_000, maxBytes: 1000 });
    assert.equal(room.driver.running().length, 2);
    await room.sessions.stop();
    assert.deepEqual(room.driver.running(), [id]);
    await room.driver.kill(id);
    room = await room.again();
    await until(() => room.driver.running().length === 1);
    assert.notEqual(room.driver.running()[0], id);
  });

  test('another server on the same home leaves alone what was taken over', async () => {
    const id = await spawn('say x');
    await room.until(id, status('idle'));
    const [box, utility] = [await boxOf(id), (await room.sessions.utility.start(room.project)).id];
    room = await room.again('crash');
    await until(() => room.sessions.utility.status(room.project.id) === 'running');
    const beside = await room.beside();
    await beside.leave();
    assert.ok(room.driver.running().includes(box));
    assert.ok(room.driver.running().includes(utility));
    await room.sessions.message(owner, { session_id: id, message: 'say still here' });
    assert.equal((await room.until(id, completion(2))).type, 'completion');
  });

  test('what the agent said while no server was there is not lost', async () => {
    const id = await spawn('wait 300');
    await room.until(id, userMessage);
    await room.sessions.message(owner, { session_id: id, message: 'say queued before' });
    await room.sessions.stop();
    await new Promise((resolve) => setTimeout(resolve, 600));
    room = await room.again();
    const done = await room.until(id, completion(2));
    assert.equal(done.type === 'completion' && done.text, 'queued before');
    assert.ok(isGapless(await room.events(id)));
  });

  test('a session whose sandbox is gone goes on in a new one, and its turn is over', async () => {
    const id = await spawn('hang');
    await room.until(id, userMessage);
    const box = await boxOf(id);
    await room.sessions.stop();
    await room.driver.kill(box);
    room = await room.again();
    const done = await room.until(id, completion(1));
    assert.equal(done.type === 'completion' && done.stop_reason, 'interrupted');
    await room.sessions.message(owner, { session_id: id, message: 'say back' });
    assert.equal((await room.until(id, completion(2))).type, 'completion');
    assert.notEqual(await boxOf(id), box);
    assert.ok(isGapless(await room.events(id)));
    assert.ok((await room.events(id)).some((event) => event.type === 'error' && event.code === 'sandbox.failed'));
  });

  test('an idle session whose sandbox is gone is idle again in a new one', async () => {
    const id = await spawn('say first');
    await room.until(id, status('idle'));
    const box = await boxOf(id);
    await room.sessions.stop();
    await room.driver.kill(box);
    room = await room.again();
    await until(
      async () =>
        (await room.ports.tables.get(id))!.status === 'idle' && (await room.ports.tables.get(id))!.box?.id !== box,
    );
    const statuses = (await room.events(id)).flatMap((event) => (event.type === 'status' ? [event.status] : []));
    assert.deepEqual(statuses, ['starting', 'running', 'idle', 'starting', 'idle']);
    await room.sessions.message(owner, { session_id: id, message: 'say second' });
    assert.equal((await room.until(id, completion(2))).type, 'completion');
  });

  test('sessions go on in a new place where the old one is gone, as after a restore', async () => {
    const [ended, idle] = [await spawn('say one'), await spawn('say one', { create_workspace: true })];
    for (const id of [ended, idle]) await room.until(id, status('idle'));
    await room.sessions.end(owner, ended);
    for (const id of [ended, idle]) {
      const { place, box } = (await room.ports.tables.get(id))!;
      if (box) await room.driver.kill(box.id);
      await rm(join(room.home, 'run', place!), { recursive: true });
    }
    room = await room.again('crash');
    for (const id of [ended, idle]) {
      const { turn } = await room.sessions.message(owner, { session_id: id, message: 'say two' });
      const done = await room.until(id, completion(turn));
      assert.match(done.type === 'completion' ? done.text : '', /two/);
      await room.sessions.end(owner, id);
    }
  });

  test('an open permission request can still be answered, and reaches the agent', async () => {
    const id = await spawn('ask p1', { permissions: 'ask' });
    const asked = (turn: number) =>
      room.until(id, (event) => event.type === 'permission_request' && event.turn === turn);
    const before = await asked(1);
    assert.ok(before.type === 'permission_request');
    await room.sessions.answer(owner, id, before.request_id, 'yes');
    await room.until(id, completion(1));
    // The same number again: the answer of before must not reach it.
    await room.sessions.message(owner, { session_id: id, message: 'ask p1' });
    const request = await asked(2);
    room = await room.again('crash');
    assert.ok(request.type === 'permission_request');
    await room.sessions.answer(owner, id, request.request_id, 'no');
    const done = await room.until(id, completion(2));
    assert.match(done.type === 'completion' ? done.text : '', /"optionId":"no"/);
  });

  test('a session that had not started yet starts', async () => {
    const id = await spawn('say late');
    room = await room.again('crash');
    const done = await room.until(id, completion(1));
    assert.equal(done.type === 'completion' && done.text, 'late');
    assert.ok(isGapless(await room.events(id)));
  });

  test('sandboxes and folders that belong to nobody go', async () => {
    const id = await spawn('say x');
    await room.until(id, status('idle'));
    await until(() => room.driver.running().length === 2);
    const box = await boxOf(id);
    const before = room.driver;
    room = await room.again('crash');
    await until(() => before.running().length === 1 && before.running()[0] === box);
    assert.ok((await readdir(room.ports.runFolder)).length > 0);
  });
});

describe('the warm pool', () => {
  test('gives the next session of its kind a sandbox whose agent waits, and keeps others apart', async () => {
    const first = await spawn('say cold');
    await room.until(first, status('idle'));
    await until(() => room.sessions.warmBoxes().length === 1);
    const [slot] = room.sessions.warmBoxes();
    const second = await spawn('say warm');
    await room.until(second, completion(1));
    assert.equal(await boxOf(second), slot);
    assert.ok(isGapless(await room.events(second)));
    const third = await spawn('say other', { permissions: 'deny' });
    await room.until(third, completion(1));
    assert.notEqual(await boxOf(third), slot);
  });

  test('gives no session a sandbox that was made with a secret of yesterday', async () => {
    const wish = { sandbox: {}, limits: {}, env: {}, secrets: ['KNOWN'] };
    const project_id = (await room.projects.create(admin, 'with a secret', wish)).id;
    const first = await spawn('say one', { project_id });
    await room.until(first, status('idle'));
    const [waiting] = await until(() => (room.sessions.warmBoxes().length > 0 ? room.sessions.warmBoxes() : undefined));
    room.ports.secret = async () => 'another-value';
    const second = await spawn('say two', { project_id });
    await room.until(second, completion(1));
    assert.notEqual(await boxOf(second), waiting);
    await until(async () => (await room.driver.get(waiting!)) === undefined);
  });

  test('waits no longer for the end of a sandbox that a session has claimed', async (context) => {
    const waiting = new Set<unknown>();
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    context.mock.method(globalThis, 'setTimeout', (run: () => void, ms?: number) => {
      const timer = set(run, ms);
      if (ms === 15 * 60_000) waiting.add(timer);
      return timer;
    });
    context.mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => {
      waiting.delete(timer);
      clear(timer);
    });
    for (let i = 0; i < 3; i++) {
      await room.until(await spawn('say hi'), status('idle'));
      await until(() => room.sessions.warmBoxes().length === 1);
      assert.equal(waiting.size, 1, 'only the sandbox that waits has an end');
    }
  });

  test('holds a key that is worth nothing until a session claims it', async () => {
    const first = await spawn('say cold', { grant: { scope: 'read' } });
    await room.until(first, status('idle'));
    await until(() => room.sessions.warmBoxes().length === 1);
    const [slot] = room.sessions.warmBoxes();
    const second = await spawn('env OUBLIETTE_API_KEY', { grant: { scope: 'write' } });
    const done = await room.until(second, completion(1));
    assert.equal(await boxOf(second), slot);
    const actor = room.tokens.authenticate(done.type === 'completion' ? done.text : '', 'socket');
    assert.deepEqual([actor.level, actor.sessionId], ['write', second]);
  });
});

describe('two servers on one home', () => {
  test('hand messages, answers, cancels and ends to the one that runs the session', async () => {
    const id = await spawn('say one');
    await room.until(id, status('idle'));
    const beside = await room.beside();
    try {
      const sent = await beside.sessions.message(owner, { session_id: id, message: 'ask' });
      assert.equal(sent.turn, 2);
      await beside.until(id, completion(2));
      await beside.sessions.message(owner, { session_id: id, message: 'wait 60000' });
      await beside.until(id, (event) => event.type === 'message' && event.role === 'agent' && event.turn === 2);
      await beside.until(id, (event) => event.type === 'message' && event.turn === 3);
      await beside.sessions.cancel(owner, id);
      const done = await beside.until(id, completion(3));
      assert.equal(done.type === 'completion' && done.stop_reason, 'cancelled');
      assert.ok(isGapless(await beside.events(id)));
      await beside.sessions.end(owner, id);
      assert.equal((await room.sessions.get(owner, id)).status, 'ended');
      assert.ok(!room.driver.running().includes(id));
    } finally {
      await beside.leave();
    }
  });

  test("leave each other's sandboxes alone, and take them over when one is gone", async () => {
    const id = await spawn('wait 2500');
    await room.until(id, userMessage);
    const box = await boxOf(id);
    const beside = await room.beside();
    assert.ok(room.driver.running().includes(box));
    assert.equal((await beside.ports.tables.get(id))!.node, room.ports.node);
    await beside.leave();
    room = await room.again('crash');
    await room.until(id, completion(1));
    assert.equal(await boxOf(id), box);
  });
});
