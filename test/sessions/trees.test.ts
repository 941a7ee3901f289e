import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Actor } from '../../src/schema/index.ts';
import { admin, code, completion, openRoom, owner, status, type Room } from './room.ts';

let room: Room;
before(async () => (room = await openRoom({ limits: { sessionsPerProject: 3 } })));
after(() => room.close());

let count = 0;
const newProject = async (limits: { depth?: number; agents?: number; cost_usd?: number } = {}): Promise<string> =>
  (await room.projects.create(owner, `tree-${count++}`, { sandbox: {}, limits, env: {}, secrets: [] })).id;
const spawn = async (actor: Actor, project_id: string, more: object = {}): Promise<string> =>
  (await room.sessions.spawn(actor, { project_id, message: 'say hello', ...more })).session_id;

describe('a project', () => {
  test('has at most so many live sessions, however many ask at once', async () => {
    const project_id = await newProject();
    const tries = await Promise.allSettled(Array.from({ length: 6 }, () => spawn(owner, project_id)));
    const made = tries.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    assert.equal(made.length, 3);
    assert.ok(tries.every((each) => each.status === 'fulfilled' || each.reason.code === 'limit.sessions'));
    await assert.rejects(room.projects.delete(owner, project_id), code('project.busy'));
    await room.sessions.end(owner, made[0]!);
    const again = await spawn(owner, project_id);
    const wake = { session_id: made[0]!, message: 'say hello' };
    await assert.rejects(room.sessions.message(owner, wake), code('limit.sessions'), 'resuming one is no way around');
    for (const id of [...made.slice(1), again]) await room.sessions.end(owner, id);
    await room.projects.delete(owner, project_id);
    await assert.rejects(room.sessions.get(owner, again), code('session.not_found'));
  });
});

describe('a tree of sessions', () => {
  test('ends at its depth, and its root has depth 0', async () => {
    const project_id = await newProject({ depth: 2 });
    let id = await spawn(owner, project_id);
    const root = id;
    for (const depth of [1, 2]) {
      id = await spawn(await room.sessions.actorOf(id), project_id);
      assert.equal((await room.sessions.get(owner, id)).depth, depth);
    }
    await assert.rejects(spawn(await room.sessions.actorOf(id), project_id), code('limit.depth'));
    await room.sessions.end(owner, root);
  });

  test('has at most so many agents, its root included, however many ask at once', async () => {
    const project_id = await newProject({ agents: 3 });
    const root = await spawn(owner, project_id);
    const actor = await room.sessions.actorOf(root);
    const tries = await Promise.allSettled(Array.from({ length: 5 }, () => spawn(actor, project_id)));
    assert.equal(tries.filter((each) => each.status === 'fulfilled').length, 2);
    assert.ok(tries.every((each) => each.status === 'fulfilled' || each.reason.code === 'limit.agents'));
    await room.sessions.end(owner, root);
  });

  test('is held to the limits of the project of its root, also where another one allows more', async () => {
    const [narrow, wide] = [await newProject({ depth: 1, agents: 2 }), await newProject({ depth: 3 })];
    const grant = { scope: 'write', projects: [narrow, wide] };
    const root = await spawn(owner, narrow, { message: 'env OUBLIETTE_API_KEY', grant });
    const done = await room.until(root, completion(1));
    const key = room.tokens.authenticate(done.type === 'completion' ? done.text : '', 'socket');
    const child = await spawn(key, wide);
    await assert.rejects(spawn(await room.sessions.actorOf(child), wide), code('limit.depth'));
    await assert.rejects(spawn(key, wide), code('limit.agents'));
    await room.sessions.end(owner, root);
  });

  test('starts no child once its money is spent', async () => {
    const project_id = await newProject({ cost_usd: 1 });
    const root = await spawn(owner, project_id);
    const held = await room.sessions.reserve(root, 0.5);
    await held.settle({ input_tokens: 1, output_tokens: 1, cost_usd: 1 });
    await assert.rejects(spawn(await room.sessions.actorOf(root), project_id), code('limit.cost'));
    await assert.rejects(room.sessions.reserve(root, 0.1), code('limit.cost'));
    await room.sessions.end(owner, root);
  });

  test('shows the parent what its children do, and ends with it', async () => {
    const project_id = await newProject();
    const root = await spawn(owner, project_id);
    await room.until(root, status('idle'));
    const child = await spawn(await room.sessions.actorOf(root), project_id, { message: 'say child' });
    await room.until(child, completion(1));
    await room.until(root, (event) => event.type === 'child' && event.status === 'idle');
    await room.sessions.end(owner, child);
    const others = [await spawn(owner, project_id), await spawn(owner, project_id)];
    await assert.rejects(spawn(owner, project_id), code('limit.sessions'), 'only roots count');
    await room.sessions.message(await room.sessions.actorOf(root), { session_id: child, message: 'say again' });
    await room.until(child, (event) => event.type === 'status' && event.status === 'idle' && event.turn === 2);
    for (const id of [...others, root]) await room.sessions.end(owner, id);
    assert.equal((await room.sessions.get(owner, child)).status, 'ended');
    const seen = (await room.events(root)).flatMap((event) => (event.type === 'child' ? [event.status] : []));
    const life = ['starting', 'running', 'idle', 'ended'];
    assert.deepEqual(seen, [...life, ...life]);
    const ends = (await room.events(root)).findIndex((event) => event.type === 'status' && event.status === 'ended');
    assert.equal(ends, (await room.events(root)).length - 1);
  });

  test('keeps a session away from all but its own children', async () => {
    const project_id = await newProject();
    const root = await spawn(owner, project_id);
    const stranger = await spawn(owner, project_id);
    const actor = await room.sessions.actorOf(root);
    const child = await spawn(actor, project_id);
    assert.equal((await room.sessions.get(actor, child)).id, child);
    for (const id of [root, stranger]) {
      await assert.rejects(room.sessions.get(actor, id), code('session.not_found'));
      await assert.rejects(room.sessions.events(actor, id, -1, 10), code('session.not_found'));
      await assert.rejects(room.sessions.message(actor, { session_id: id, message: 'x' }), code('session.not_found'));
      await assert.rejects(room.sessions.end(actor, id), code('session.not_found'));
    }
    await assert.rejects(spawn(actor, room.project.id), code('project.not_found'));
    const sibling = await room.sessions.actorOf(stranger);
    await assert.rejects(room.sessions.get(sibling, child), code('session.not_found'));
    await room.sessions.end(owner, root);
    await room.sessions.end(owner, stranger);
  });
});

describe('a grant', () => {
  const keyOf = async (sessionId: string, turn = 1): Promise<string> => {
    const event = await room.until(sessionId, completion(turn));
    return event.type === 'completion' ? event.text : '';
  };

  test('puts a key of its own project into the environment and takes it back at the end', async () => {
    const project_id = await newProject();
    const id = await spawn(owner, project_id, { message: 'env OUBLIETTE_API_KEY', grant: { scope: 'write' } });
    const key = await keyOf(id);
    const actor = room.tokens.authenticate(key, 'socket');
    assert.deepEqual(
      [actor.level, actor.projects, actor.sessionId, actor.isGranted],
      ['write', [project_id], id, true],
    );
    const row = JSON.stringify(await room.ports.tables.get(id));
    assert.ok(!row.includes(key), 'the key is stored nowhere');
    await assert.rejects(spawn(actor, room.project.id), code('project.not_found'));
    const child = await spawn(actor, project_id);
    assert.deepEqual(
      [(await room.sessions.get(owner, child)).parent_id, (await room.sessions.get(owner, child)).depth],
      [id, 1],
    );
    await room.sessions.end(owner, id);
    assert.throws(() => room.tokens.authenticate(key, 'socket'), code('auth.invalid'));
  });

  test('is a new key after a resume, and the old one stays dead', async () => {
    const project_id = await newProject();
    const id = await spawn(owner, project_id, { message: 'env OUBLIETTE_API_KEY', grant: { scope: 'read' } });
    const first = await keyOf(id);
    await room.sessions.end(owner, id);
    await room.sessions.message(owner, { session_id: id, message: 'env OUBLIETTE_API_KEY' });
    const second = await keyOf(id, 2);
    assert.notEqual(first, second);
    assert.throws(() => room.tokens.authenticate(first, 'socket'), code('auth.invalid'));
    assert.equal(room.tokens.authenticate(second, 'socket').level, 'read');
    await room.sessions.end(owner, id);
  });

  test('is never wider than what the asker has', async () => {
    const project_id = await newProject();
    await assert.rejects(spawn(owner, project_id, { grant: { scope: 'admin' } }), code('scope.denied'));
    const narrowed: Actor = { ...owner, projects: [project_id], bundles: ['demo'] };
    await assert.rejects(
      spawn(narrowed, project_id, { grant: { scope: 'read', projects: [room.project.id, 'proj_x'] } }),
      code('project.not_found'),
    );
    await assert.rejects(
      spawn(narrowed, project_id, { grant: { scope: 'read', bundles: ['fs'] } }),
      code('scope.denied'),
    );
    assert.deepEqual((await room.sessions.list(admin, { project_id })).length, 0);
  });

  test('is absent when nothing was granted', async () => {
    const id = await spawn(owner, await newProject(), { message: 'env OUBLIETTE_API_KEY' });
    assert.equal(await keyOf(id), 'unset');
    await room.sessions.end(owner, id);
  });

  test('gives a session no say over questions to its own caller, even as admin', async () => {
    const project_id = await newProject();
    const id = await spawn({ ...admin, principal: 'prn_admin' }, project_id, {
      message: 'ask',
      permissions: 'ask',
      grant: { scope: 'admin' },
    });
    const request = await room.until(id, (event) => event.type === 'permission_request');
    const own: Actor = {
      kind: 'token',
      door: 'socket',
      principal: `session:${id}`,
      level: 'admin',
      sessionId: id,
      projectId: project_id,
      isGranted: true,
      projects: [project_id],
    };
    assert.ok(request.type === 'permission_request');
    await assert.rejects(room.sessions.answer(own, id, request.request_id, 'yes'), code('ask.not_found'));
    await room.sessions.end(admin, id);
  });
});

describe('idle sessions', () => {
  test('time out, counted from the last activity of either side', async () => {
    const quick = await openRoom({ limits: { idleMinutes: 0.02 } });
    const { session_id } = await quick.sessions.spawn(owner, { project_id: quick.project.id, message: 'wait 900' });
    const event = await quick.until(session_id, status('timed_out'));
    const done = await quick.until(session_id, completion(1));
    assert.ok(Date.parse(event.at) - Date.parse(done.at) >= 1150);
    assert.equal(quick.driver.running().length <= 1, true);
    await quick.close();
  });
});
