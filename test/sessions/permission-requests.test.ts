import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answerOf, code, completion, openRoom, other, owner, type Room } from './room.ts';

let room: Room;
before(async () => (room = await openRoom()));
after(() => room.close());

const spawn = (message: string, more: object = {}) =>
  room.sessions.spawn(owner, { project_id: room.project.id, message, ...more });
const textOf = (sessionId: string, turn: number): Promise<string> => answerOf(room, sessionId, turn);

test('a permission request goes to the owner, takes one answer, and the agent is told', async () => {
  const { session_id } = await spawn('ask', { permissions: 'ask' });
  const request = await room.until(session_id, (event) => event.type === 'permission_request');
  assert.ok(request.type === 'permission_request');
  assert.deepEqual(
    request.options.map((option) => option.id),
    ['yes', 'no'],
  );
  await assert.rejects(room.sessions.answer(other, session_id, request.request_id, 'yes'), code('ask.not_found'));
  await room.sessions.answer(owner, session_id, request.request_id, 'yes');
  await assert.rejects(room.sessions.answer(owner, session_id, request.request_id, 'no'), code('ask.closed'));
  assert.match(await textOf(session_id, 1), /"optionId":"yes"/);
  await room.sessions.end(owner, session_id);
});

test('an agent that uses the number of an answered request again is taken to ask again', async () => {
  const { session_id } = await spawn('ask p1', { permissions: 'ask' });
  const asked = async (turn: number): Promise<string> => {
    const event = await room.until(session_id, (each) => each.type === 'permission_request' && each.turn === turn);
    return event.type === 'permission_request' ? event.request_id : '';
  };
  const first = await asked(1);
  await room.sessions.answer(owner, session_id, first, 'yes');
  await room.until(session_id, completion(1));
  await room.sessions.message(owner, { session_id, message: 'ask p1' });
  const second = await asked(2);
  assert.notEqual(second, first);
  await room.sessions.answer(owner, session_id, second, 'no');
  assert.match(await textOf(session_id, 2), /"optionId":"no"/);
  await room.sessions.end(owner, session_id);
});

test('a permission request whose turn is cancelled is closed before the turn is said to be over', async () => {
  const { session_id } = await spawn('ask', { permissions: 'ask' });
  const request = await room.until(session_id, (event) => event.type === 'permission_request');
  await room.sessions.cancel(owner, session_id);
  await room.until(session_id, completion(1));
  const order = (await room.events(session_id)).map((event) => event.type);
  assert.equal(order.filter((kind) => kind === 'permission_answer').length, 1);
  assert.ok(order.indexOf('permission_answer') < order.indexOf('completion'), order.join());
  assert.ok(request.type === 'permission_request');
  await assert.rejects(room.sessions.answer(owner, session_id, request.request_id, 'nonsense'), code('ask.closed'));
  await room.sessions.end(owner, session_id);
});

test('where the policy says so, requests are allowed or refused without asking', async () => {
  const allowed = await spawn('ask', { permissions: 'auto' });
  assert.match(await textOf(allowed.session_id, 1), /"optionId":"yes"/);
  const refused = await spawn('ask', { permissions: 'deny' });
  assert.match(await textOf(refused.session_id, 1), /"optionId":"no"/);
  await room.sessions.end(owner, allowed.session_id);
  await room.sessions.end(owner, refused.session_id);
});
