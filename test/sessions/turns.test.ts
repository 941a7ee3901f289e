import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { completion, isGapless, openRoom, owner, status, type Room } from './room.ts';

let room: Room;
before(async () => (room = await openRoom()));
after(() => room.close());

describe('a session', () => {
  test('starts with a message, answers it, and waits for the next', async () => {
    const first = await room.sessions.message(owner, { project_id: room.project.id, message: 'say hello there' });
    assert.deepEqual({ ...first, session_id: '', workspace_id: '' }, { session_id: '', workspace_id: '', spawned: true, turn: 1, last_event_index: -1 });
    await room.until(first.session_id, status('idle'));
    const events = await room.events(first.session_id);
    assert.deepEqual(
      events.map((event) => (event.type === 'status' ? event.status : event.type)),
      ['starting', 'running', 'message', 'message', 'completion', 'idle'],
    );
    assert.ok(isGapless(events));
    const second = await room.sessions.message(owner, { project_id: room.project.id, message: 'say again' });
    assert.equal(second.session_id, first.session_id);
    assert.deepEqual([second.spawned, second.turn, second.last_event_index], [false, 2, 5]);
    const done = await room.until(first.session_id, completion(2));
    assert.equal(done.type === 'completion' && done.text, 'again');
    await room.sessions.end(owner, first.session_id);
  });
});
