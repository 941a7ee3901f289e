import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import type { SessionEvent } from '../../src/schema/index.ts';
import { admin, answerOf, code, completion, isGapless, openRoom, other, owner, status, type Room } from './room.ts';

let room: Room;
before(async () => (room = await openRoom()));
after(() => room.close());

const spawn = (message: string, more: object = {}) =>
  room.sessions.spawn(owner, { project_id: room.project.id, message, ...more });
const kinds = (events: SessionEvent[]): string[] =>
  events.map((event) => (event.type === 'status' ? event.status : event.type));
const textOf = (sessionId: string, turn: number): Promise<string> => answerOf(room, sessionId, turn);

describe('a session', () => {
  test('starts with a message, answers it, and waits for the next', async () => {
    const wish = { sandbox: {}, limits: {}, env: {}, secrets: [] };
    const { id: project_id } = await room.projects.create(owner, 'never used before', wish);
    const first = await room.sessions.message(owner, { project_id, message: 'say hello there' });
    assert.deepEqual(
      { ...first, session_id: '', workspace_id: '' },
      { session_id: '', workspace_id: '', spawned: true, turn: 1, last_event_index: -1 },
    );
    await room.until(first.session_id, status('idle'));
    const events = await room.events(first.session_id);
    assert.deepEqual(kinds(events), ['starting', 'running', 'message', 'message', 'completion', 'idle']);
    assert.ok(isGapless(events));
    const second = await room.sessions.message(owner, { project_id, message: 'say again' });
    assert.equal(second.session_id, first.session_id);
    assert.deepEqual([second.spawned, second.turn, second.last_event_index], [false, 2, 5]);
    assert.equal(await textOf(first.session_id, 2), 'again');
    await room.sessions.end(owner, first.session_id);
  });

  for (const [how, ending] of [
    ['hang', 'ended'],
    ['die 3', 'failed'],
  ] as const)
    test(`tells those whose messages waited when it ${ending} that they were never begun`, async () => {
      const { session_id } = await spawn('wait 300');
      for (const message of [how, 'say second', 'say third'])
        await room.sessions.message(owner, { session_id, message });
      await room.until(session_id, (event) => event.type === 'message' && event.turn === 2);
      if (ending === 'ended') await room.sessions.end(owner, session_id);
      await room.until(session_id, status(ending));
      const events = await room.events(session_id);
      assert.equal(events.at(-1)?.type, 'status', 'nothing comes after the end');
      for (const turn of [3, 4]) {
        const told = events.filter((event) => event.turn === turn);
        assert.deepEqual(kinds(told), ['error', 'completion']);
        assert.match(JSON.stringify(told), new RegExp(`session\\.state.*The session ${ending} before this message`));
        assert.match(JSON.stringify(told), /"stop_reason":"cancelled"/);
      }
      assert.ok(isGapless(events));
    });

  test('queues twenty messages in order and refuses the next', async () => {
    const { session_id } = await spawn('wait 800');
    await room.until(session_id, (event) => event.type === 'message' && event.role === 'user');
    const turns = await Promise.all(
      Array.from({ length: 20 }, (_, i) => room.sessions.message(owner, { session_id, message: `say ${i}` })),
    );
    assert.deepEqual(
      turns.map((each) => each.turn),
      Array.from({ length: 20 }, (_, i) => i + 2),
    );
    await assert.rejects(room.sessions.message(owner, { session_id, message: 'too many' }), code('session.busy'));
    await room.until(session_id, completion(21));
    const said = (await room.events(session_id)).flatMap((event) =>
      event.type === 'completion' && event.turn > 1 ? [event.text] : [],
    );
    assert.deepEqual(
      said,
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
    await room.sessions.end(owner, session_id);
  });

  test('answers the same idempotency key once, also when it comes twice at once', async () => {
    const args = { project_id: room.project.id, message: 'say once', idempotency_key: 'k1' };
    const [one, two] = await Promise.all([room.sessions.spawn(owner, args), room.sessions.spawn(owner, args)]);
    assert.deepEqual(one, two);
    assert.deepEqual(await room.sessions.spawn(owner, args), one);
    await room.until(one.session_id, status('idle'));
    const again = { session_id: one.session_id, message: 'say twice', idempotency_key: 'k2' };
    assert.deepEqual(await room.sessions.message(owner, again), await room.sessions.message(owner, again));
    await room.sessions.end(owner, one.session_id);
    assert.equal((await room.sessions.list(owner, { status: 'running' })).length, 0);
  });

  test('stops a turn when it is cancelled and goes on with the next', async () => {
    const { session_id } = await spawn('wait 60000');
    await room.until(session_id, status('running'));
    await room.until(session_id, (event) => event.type === 'message');
    await room.sessions.cancel(owner, session_id);
    const done = await room.until(session_id, completion(1));
    assert.equal(done.type === 'completion' && done.stop_reason, 'cancelled');
    await room.sessions.message(owner, { session_id, message: 'say on' });
    assert.equal(await textOf(session_id, 2), 'on');
    await room.sessions.end(owner, session_id);
  });

  test('ends with its processes, and a message to it afterwards resumes it under the same id', async () => {
    const { session_id } = await spawn('say one');
    await room.until(session_id, status('idle'));
    const box = (await room.ports.tables.get(session_id))!.box!.id;
    await room.sessions.end(owner, session_id);
    assert.ok(!room.driver.running().includes(box));
    assert.equal((await room.sessions.get(owner, session_id)).status, 'ended');
    const more = await room.sessions.message(owner, { session_id, message: 'say two' });
    assert.deepEqual([more.session_id, more.spawned, more.turn], [session_id, false, 2]);
    assert.equal(await textOf(session_id, 2), 'two');
    const events = await room.events(session_id);
    assert.ok(isGapless(events));
    const names = events.flatMap((event) => (event.type === 'message' ? [event.message_id] : []));
    assert.equal(new Set(names).size, 4);
    await room.sessions.end(owner, session_id);
  });

  test('of an agent that closes its output and lives on is failed at once, with what it did', async () => {
    const { session_id } = await spawn('mute');
    await room.until(session_id, status('failed'));
    const { error } = await room.sessions.get(owner, session_id);
    assert.deepEqual(error, { code: 'agent.failed', message: 'The agent closed its output but did not end' });
    await room.sessions.message(owner, { session_id, message: 'say back' });
    assert.equal(await textOf(session_id, 2), 'back');
    await room.sessions.end(owner, session_id);
  });

  test('of an agent that dies is failed with the reason, and can be resumed', async () => {
    const { session_id } = await spawn('die 7');
    const event = await room.until(session_id, status('failed'));
    assert.match(JSON.stringify(event), /7/);
    const row = await room.sessions.get(owner, session_id);
    assert.equal(row.error?.code, 'agent.failed');
    await room.sessions.message(owner, { session_id, message: 'say better' });
    assert.equal(await textOf(session_id, 2), 'better');
    await room.sessions.end(owner, session_id);
  });

  test('whose sandbox is killed is failed with the reason', async () => {
    const { session_id } = await spawn('hang');
    await room.until(session_id, (event) => event.type === 'message');
    await room.driver.kill((await room.ports.tables.get(session_id))!.box!.id);
    await room.until(session_id, status('failed'));
    assert.equal((await room.sessions.get(owner, session_id)).error?.code, 'sandbox.failed');
  });

  test('whose sandbox cannot start is failed with the reason and leaves nothing behind', async () => {
    room.driver.failNextStart(new Error('no more pids'));
    // A workspace of its own has no warm sandbox.
    const { session_id } = await spawn('say x', { create_workspace: true });
    await room.until(session_id, status('failed'));
    assert.ok((await room.sessions.get(owner, session_id)).error);
  });

  test('with an agent that speaks garbage goes on', async () => {
    const { session_id } = await spawn('garbage');
    assert.match(await textOf(session_id, 1), /still here/);
    await room.sessions.end(owner, session_id);
  });

  test('takes a flood of output without losing the end of it', async () => {
    const { session_id } = await spawn('flood 20000');
    const text = await textOf(session_id, 1);
    assert.match(text, /line 19999/);
    await room.sessions.end(owner, session_id);
  });

  test('says so when a message wants what only a new start can give', async () => {
    const { session_id } = await spawn('say a', { permissions: 'ask', model: 'one', grant: { scope: 'read' } });
    await room.until(session_id, status('idle'));
    const send = (more: object) => room.sessions.message(owner, { session_id, message: 'say b', ...more });
    await assert.rejects(send({ permissions: 'deny' }), code('session.state'));
    await assert.rejects(send({ model: 'two' }), code('session.state'));
    await assert.rejects(send({ grant: { scope: 'write' } }), code('session.state'));
    await assert.rejects(send({ agent: 'nobody' }), code('agent.unavailable'));
    const same = await send({ permissions: 'ask', model: 'one', grant: { scope: 'read' }, agent: 'embedded' });
    assert.equal(same.turn, 2);
    await room.sessions.end(owner, session_id);
    const anew = { message: 'env OUBLIETTE_API_KEY', permissions: 'deny', model: 'two', grant: { scope: 'write' } };
    assert.equal((await send(anew)).turn, 3);
    assert.equal(room.tokens.authenticate(await textOf(session_id, 3), 'socket').level, 'write');
    const { model, permissions } = (await room.ports.tables.get(session_id))!;
    assert.deepEqual([model, permissions], ['two', 'deny']);
    await room.sessions.end(owner, session_id);
    const bare = await spawn('say a');
    const late = { session_id: bare.session_id, message: 'say b', grant: { scope: 'read' } } as const;
    await assert.rejects(room.sessions.message(owner, late), code('session.state'));
    await room.sessions.end(owner, bare.session_id);
  });

  test('finds its attachments in the workspace', async () => {
    const blob = await room.blobs.put(owner.principal, Readable.from([Buffer.from('attached bytes')]), {
      maxBytes: 100,
    });
    const { session_id, workspace_id } = await spawn('attached', {
      attachments: [{ blob_id: blob.id, name: 'note.txt' }],
    });
    const text = await textOf(session_id, 1);
    assert.match(text, /note\.txt/);
    const folder = room.projects.folderOf({ id: workspace_id, project_id: room.project.id });
    assert.equal(await readFile(join(folder, '.attachments', blob.id, 'note.txt'), 'utf8'), 'attached bytes');
    await assert.rejects(spawn('x', { attachments: [{ blob_id: 'blob_x', name: 'a' }] }), code('blob.not_found'));
    await assert.rejects(spawn('x', { attachments: [{ blob_id: blob.id, name: '../a' }] }), code('request.invalid'));
    const long = 'ü'.repeat(128);
    await assert.rejects(spawn('x', { attachments: [{ blob_id: blob.id, name: long }] }), code('request.invalid'));
    await assert.rejects(
      room.sessions.spawn(other, {
        project_id: room.project.id,
        message: 'x',
        attachments: [{ blob_id: blob.id, name: 'a' }],
      }),
      code('blob.not_found'),
    );
    await room.sessions.end(owner, session_id);
  });

  test('belongs to who started it: others look, but do not send, cancel, end', async () => {
    const { session_id } = await spawn('say mine');
    await room.until(session_id, status('idle'));
    assert.equal((await room.sessions.get(other, session_id)).id, session_id);
    await assert.rejects(room.sessions.message(other, { session_id, message: 'x' }), code('scope.denied'));
    await assert.rejects(room.sessions.cancel(other, session_id), code('scope.denied'));
    await assert.rejects(room.sessions.end(other, session_id), code('scope.denied'));
    const outside = { ...other, projects: ['proj_else'] };
    await assert.rejects(room.sessions.get(outside, session_id), code('session.not_found'));
    await assert.rejects(
      room.sessions.message(outside, { project_id: room.project.id, message: 'x' }),
      code('project.not_found'),
    );
    const theirs = await room.sessions.message(other, { project_id: room.project.id, message: 'say theirs' });
    assert.notEqual(theirs.session_id, session_id);
    await room.sessions.end(admin, session_id);
    await room.sessions.end(admin, theirs.session_id);
  });

  test('works in the workspace that its external id names', async () => {
    await assert.rejects(spawn('x', { external_id: 'T1' }), code('workspace.not_found'));
    const one = await spawn('say a', { external_id: 'T1', source: 'chat', create_workspace: true });
    const two = await room.sessions.message(owner, {
      project_id: room.project.id,
      external_id: 'T1',
      source: 'chat',
      message: 'say b',
    });
    assert.equal(two.session_id, one.session_id);
    assert.notEqual(one.workspace_id, room.project.default_workspace_id);
    await room.sessions.end(owner, one.session_id);
  });

  test('is read on from an index, with more to come marked', async () => {
    const { session_id } = await spawn('say x');
    await room.until(session_id, status('idle'));
    const first = await room.sessions.events(owner, session_id, -1, 4);
    assert.deepEqual([first.events.length, first.last_index, first.has_more], [4, 3, true]);
    const rest = await room.sessions.events(owner, session_id, first.last_index, 100);
    assert.deepEqual([rest.last_index, rest.has_more], [5, false]);
    const none = await room.sessions.events(owner, session_id, 5, 100);
    assert.deepEqual([none.events, none.last_index, none.has_more], [[], 5, false]);
    await room.sessions.end(owner, session_id);
  });

  test('is listed with others, newest first and page by page', async () => {
    const ids: string[] = [];
    for (const n of [1, 2, 3]) ids.unshift((await spawn(`say ${n}`)).session_id);
    const first = await room.sessions.list(owner, {}, { limit: 2 });
    assert.deepEqual(
      first.map((row) => row.id),
      ids.slice(0, 2),
    );
    const rest = await room.sessions.list(owner, {}, { limit: 2, before: first[1]!.id });
    assert.equal(rest[0]!.id, ids[2]);
    assert.deepEqual(await room.sessions.list({ ...other, projects: ['proj_else'] }, {}, { limit: 2 }), []);
    for (const id of ids) await room.sessions.end(owner, id);
  });

  test('is cleaned up when it is over and old enough, with its log', async () => {
    const { session_id } = await spawn('say x');
    await room.until(session_id, status('idle'));
    await room.sessions.cleanup(owner, { maxAgeMs: -1 });
    assert.ok(await room.sessions.get(owner, session_id));
    await room.sessions.end(owner, session_id);
    assert.equal(await room.sessions.cleanup(owner, { maxAgeMs: 3600_000 }), 0);
    await room.sessions.cleanup(other, { maxAgeMs: -1 });
    assert.ok(await room.sessions.get(owner, session_id), 'what belongs to someone else stays');
    assert.equal(await room.sessions.cleanup(owner, { project_id: room.project.id, maxAgeMs: -1 }), 1);
    await assert.rejects(room.sessions.get(owner, session_id), code('session.not_found'));
    assert.equal((await room.log.bounds(session_id)).newest, -1);
  });

  test('refuses targets that do not exist', async () => {
    await assert.rejects(room.sessions.message(owner, { message: 'x' }), code('request.invalid'));
    await assert.rejects(
      room.sessions.message(owner, { project_id: 'proj_x', message: 'x' }),
      code('project.not_found'),
    );
    await assert.rejects(
      room.sessions.message(owner, { session_id: 'ses_x', message: 'x' }),
      code('session.not_found'),
    );
    await assert.rejects(spawn('x', { workspace_id: 'wsp_x' }), code('workspace.not_found'));
    await assert.rejects(spawn('x', { agent: 'nobody' }), code('agent.unavailable'));
    const elsewhere = await room.projects.create(owner, 'elsewhere', { sandbox: {}, limits: {}, env: {}, secrets: [] });
    const workspace_id = elsewhere.default_workspace_id;
    await assert.rejects(spawn('x', { workspace_id }), code('workspace.not_found'));
    const { session_id } = await spawn('say here');
    await assert.rejects(
      room.sessions.message(owner, { session_id, project_id: elsewhere.id, message: 'x' }),
      code('session.not_found'),
    );
    await room.sessions.end(owner, session_id);
  });
});
