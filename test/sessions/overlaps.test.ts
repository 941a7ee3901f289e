import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Failure } from '../../src/schema/index.ts';
import { until } from '../kit/until.ts';
import { admin, code, completion, openRoom, owner, status, type Room } from './room.ts';

let room: Room;
before(async () => (room = await openRoom({ limits: { sessionsPerProject: 5 } })));
after(() => room.close());

const boxesOf = async (sessionId: string): Promise<number> =>
  (await room.driver.list({ session: sessionId })).filter((box) => box.status === 'running').length;
const idleSession = async (project_id = room.project.id): Promise<string> => {
  const { session_id } = await room.sessions.spawn(owner, { project_id, message: 'say hello' });
  await room.until(session_id, status('idle'));
  return session_id;
};
let count = 0;
const newProject = async (): Promise<string> =>
  (await room.projects.create(owner, `overlap-${count++}`, { sandbox: {}, limits: {}, env: {}, secrets: [] })).id;

describe('a session that is ended', () => {
  test('while a message resumes it stays ended, and the next message starts it once', async () => {
    const id = await idleSession();
    await room.sessions.end(owner, id);
    let ended: Promise<void> | undefined;
    const unlisten = room.sessions.onDeclared((declared) => {
      if (declared === id) ended ??= room.sessions.end(owner, id);
    });
    const context = { caller_id: 'ant', caller_tools: [] };
    await room.sessions.message(owner, { session_id: id, message: 'say lost', context });
    unlisten();
    await ended;
    assert.equal((await room.sessions.get(owner, id)).status, 'ended');
    const { turn } = await room.sessions.message(owner, { session_id: id, message: 'say again' });
    await room.until(id, completion(turn));
    assert.equal(await boxesOf(id), 1);
    const told = (await room.events(id)).flatMap((event) => (event.type === 'status' ? [event.status] : []));
    assert.deepEqual(told.slice(told.indexOf('ended') + 1, -1), ['starting', 'ended', 'starting', 'running']);
    await room.sessions.end(owner, id);
  });

  test('leaves no child behind that it started while it was being stopped', async () => {
    const parent = await idleSession();
    const actor = await room.sessions.actorOf(parent);
    const { stop } = room.driver;
    let child: Promise<{ session_id: string }> | undefined;
    room.driver.stop = async (id, graceMs) => {
      child ??= room.sessions.spawn(actor, { project_id: room.project.id, message: 'say hello' });
      await child;
      await stop(id, graceMs);
    };
    try {
      await room.sessions.end(owner, parent);
    } finally {
      room.driver.stop = stop;
    }
    assert.equal((await room.sessions.get(owner, (await child!).session_id)).status, 'ended');
    assert.equal(await boxesOf((await child!).session_id), 0);
    const late = room.sessions.spawn(actor, { project_id: room.project.id, message: 'say hello' });
    await assert.rejects(late, code('session.state'));
  });

  test('takes a child with it that another server runs', async (t) => {
    const beside = await room.beside();
    t.after(() => beside.leave());
    const parent = await idleSession();
    const actor = await room.sessions.actorOf(parent);
    const { session_id: child } = await room.sessions.spawn(actor, {
      project_id: room.project.id,
      message: 'say hello',
    });
    await room.until(child, status('idle'));
    await room.sessions.end(owner, child);
    const { turn } = await beside.sessions.message(owner, { session_id: child, message: 'say there' });
    await beside.until(child, completion(turn));
    await room.sessions.end(owner, parent);
    assert.equal((await room.sessions.get(owner, child)).status, 'ended');
    assert.equal(await boxesOf(child), 0);
  });
});

describe('a cancel', () => {
  test('that comes before the sandbox is there stops the turn all the same', async () => {
    const release = room.driver.holdStarts();
    const project_id = await newProject();
    const { session_id } = await room.sessions.spawn(owner, { project_id, message: 'say never' });
    await room.sessions.cancel(owner, session_id);
    release();
    await room.until(session_id, status('idle'));
    const events = await room.events(session_id);
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'completion' ? [event.stop_reason] : [])),
      ['cancelled'],
    );
    assert.ok(!events.some((event) => event.type === 'message'));
    await room.sessions.end(owner, session_id);
  });
});

describe('a message that is refused', () => {
  test('leaves no workspace behind that was made for it', async () => {
    const project_id = await newProject();
    const ids = await Promise.all(Array.from({ length: 5 }, () => idleSession(project_id)));
    const again = { project_id, message: 'say no', create_workspace: true };
    await assert.rejects(room.sessions.spawn(owner, again), code('limit.sessions'));
    assert.equal((await room.projects.workspaces(owner, project_id)).length, 1);
    for (const id of ids) await room.sessions.end(owner, id);
  });

  test('because its key cannot be made any more ends the session with the reason', async () => {
    const { row: token } = await room.tokens.mint(admin, { name: 'asker', scope: 'write' });
    const asker = await room.tokens.actorOf(token.id, 'rest');
    const project_id = await newProject();
    const grant = { scope: 'read' as const, projects: [project_id] };
    const { session_id } = await room.sessions.spawn(asker, { project_id, message: 'say hello', grant });
    await room.until(session_id, status('idle'));
    await room.sessions.end(admin, session_id);
    await room.tokens.revoke(admin, token.id);
    const { turn } = await room.sessions.message(admin, { session_id, message: 'say more' });
    await room.until(session_id, status('failed'));
    const { error } = await room.sessions.get(admin, session_id);
    assert.match(error?.code ?? '', /^auth\./);
    assert.ok((await room.events(session_id)).some(completion(turn)));
  });
});

describe('a utility sandbox', () => {
  test('that dies leaves neither its sockets nor its folder', async () => {
    const project = (await room.projects.load(await newProject()))!;
    const box = await room.sessions.utility.start(project);
    await room.driver.kill(box.id);
    await until(async () => !room.sessions.utility.places().includes(box.place.name));
    await until(async () => (await room.driver.get(box.id)) === undefined);
    await until(() => !existsSync(box.place.mcp));
  });

  test('that is stopped while it is being started is not there after the next start of the server', async () => {
    const project = (await room.projects.load(await newProject()))!;
    const release = room.driver.holdStarts();
    const started = room.sessions.utility.start(project);
    const outcome = started.then(
      () => 'started',
      (error: Failure) => error.code,
    );
    const stopped = room.sessions.utility.stop(project.id);
    release();
    await stopped;
    assert.equal(await outcome, 'sandbox.failed');
    assert.deepEqual(
      room.ports.utilityTables.list().filter((row) => row.project_id === project.id),
      [],
    );
  });
});
