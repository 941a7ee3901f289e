import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { Failure, SessionEvent } from '../schema/index.ts';
import { Database, openAsks, openEvents } from '../store/index.ts';
import { asks, eventLog, presence, type Asks, type EventLog, type Presence } from './index.ts';

interface Room {
  db: Database;
  log: EventLog;
  asks: Asks;
  presence: Presence;
  close(): Promise<void>;
}

let folder: string;
let room: Room;
const session = 'ses_1';
const owner = { principal: 'prn_owner', isAdmin: false };

async function openRoom(graceMs = 60): Promise<Room> {
  const db = new Database(join(folder, 'state.db'));
  const log = eventLog({ db, events: await openEvents(db, folder), pollMs: 20 });
  const who = presence();
  const all = asks({ log, tables: await openAsks(db), presence: who, reconnectGraceMs: () => graceMs });
  return {
    db,
    log,
    asks: all,
    presence: who,
    async close() {
      all.close();
      log.close();
      await db.close();
    },
  };
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-asks-'));
  room = await openRoom();
});
afterEach(async () => {
  await room.close();
  await rm(folder, { recursive: true });
});

const ask = (more: { timeoutMs?: number; onDisconnect?: 'fail' | 'wait'; key?: string } = {}) =>
  room.asks.askCaller({
    sessionId: session,
    owner: owner.principal,
    turn: 1,
    tool: 'send_response',
    arguments: { message: 'hi' },
    timeoutMs: 5000,
    onDisconnect: 'fail',
    ...more,
  });
const code = (expected: string) => (error: Failure) => error.code === expected;
const events = async (): Promise<SessionEvent[]> => room.log.read(session, -1, 100);

describe('asks', () => {
  test('go with their session, and no others', async () => {
    const { id } = await ask({ onDisconnect: 'wait' });
    const other = await room.asks.askCaller({
      sessionId: 'ses_2',
      owner: owner.principal,
      turn: 1,
      tool: 't',
      arguments: {},
      timeoutMs: 60_000,
      onDisconnect: 'wait',
    });
    await room.log.write((tx) => room.asks.remove(tx, session));
    assert.deepEqual(await room.asks.open(session), []);
    await assert.rejects(room.asks.answer(session, id, owner, { outcome: 'result', value: 1 }), code('ask.not_found'));
    assert.equal((await room.asks.open('ses_2'))[0]?.id, other.id);
    const left = room.db.all<{ session_id: string }>('SELECT session_id FROM asks');
    assert.deepEqual(
      left.map((row) => row.session_id),
      ['ses_2'],
    );
  });

  test('store the question as an event with its unprefixed tool, arguments and deadline', async () => {
    const { id, deadline } = await ask();
    const [event] = await events();
    assert.deepEqual(
      { ...event, at: '' },
      {
        index: 0,
        at: '',
        session_id: session,
        turn: 1,
        type: 'caller_tool_request',
        request_id: id,
        tool: 'send_response',
        arguments: { message: 'hi' },
        deadline,
      },
    );
  });

  test('hand the answer to whoever waits, and record the outcome', async () => {
    const { id } = await ask();
    const waiting = room.asks.wait(session, id);
    await room.asks.answer(session, id, owner, { outcome: 'result', value: { status: 'sent' } });
    assert.deepEqual(await waiting, { outcome: 'result', value: { status: 'sent' } });
    assert.deepEqual((await events()).at(-1), {
      ...(await events()).at(-1),
      type: 'caller_tool_answer',
      request_id: id,
      outcome: 'result',
    });
  });

  test('take one answer only, also when many come at once', async () => {
    const { id } = await ask();
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (_, value) => room.asks.answer(session, id, owner, { outcome: 'result', value })),
    );
    assert.equal(tries.filter((each) => each.status === 'fulfilled').length, 1);
    assert.ok(tries.every((each) => each.status === 'fulfilled' || each.reason.code === 'ask.closed'));
    assert.equal((await events()).length, 2);
  });

  test('are unknown to a stranger and in another session', async () => {
    const { id } = await ask();
    await assert.rejects(
      room.asks.answer(session, id, { principal: 'prn_x', isAdmin: false }, { outcome: 'result', value: 1 }),
      code('ask.not_found'),
    );
    await assert.rejects(room.asks.answer('ses_2', id, owner, { outcome: 'result', value: 1 }), code('ask.not_found'));
    await room.asks.answer(session, id, { principal: 'prn_x', isAdmin: true }, { outcome: 'result', value: 1 });
  });

  test('time out at the deadline and not before', async () => {
    const started = performance.now();
    const { id } = await ask({ timeoutMs: 80 });
    assert.deepEqual(await room.asks.wait(session, id), { outcome: 'timeout', timeoutMs: 80 });
    assert.ok(performance.now() - started >= 79);
    await assert.rejects(room.asks.answer(session, id, owner, { outcome: 'result', value: 1 }), code('ask.closed'));
  });

  test('fail at once when the last stream of the owner closes, and not when one of two does', async () => {
    const leaveOne = room.presence.enter(session, owner.principal);
    const leaveTwo = room.presence.enter(session, owner.principal);
    const { id } = await ask();
    const waiting = room.asks.wait(session, id);
    leaveOne();
    assert.equal((await room.asks.open(session)).length, 1);
    leaveTwo();
    assert.deepEqual(await waiting, { outcome: 'disconnected' });
  });

  test('fail at once when the owner was there since the declaration and is gone', async () => {
    await room.asks.declared(session, owner.principal);
    room.presence.enter(session, owner.principal)();
    const { id } = await ask();
    assert.deepEqual(await room.asks.open(session), [], 'there is nothing left to wait for');
    assert.deepEqual(await room.asks.wait(session, id), { outcome: 'disconnected' });
  });

  test('wait for the deadline when the owner only polls, or declared anew since', async () => {
    room.presence.enter(session, owner.principal)();
    await room.asks.declared(session, owner.principal);
    const { id } = await ask({ timeoutMs: 60 });
    assert.equal((await room.asks.wait(session, id)).outcome, 'timeout');
  });

  test('do not count observers', async () => {
    room.presence.enter(session, 'prn_observer')();
    const stay = room.presence.enter(session, owner.principal);
    const { id } = await ask();
    room.presence.enter(session, 'prn_observer')();
    assert.equal((await room.asks.open(session))[0]!.id, id);
    stay();
    assert.equal((await room.asks.wait(session, id)).outcome, 'disconnected');
  });

  test('wait for the deadline when the owner only polls, whoever else watches the session', async () => {
    room.presence.enter(session, 'prn_observer')();
    const { id } = await ask({ timeoutMs: 60 });
    assert.equal((await room.asks.wait(session, id)).outcome, 'timeout');
  });

  test('give an owner the grace period also when somebody else is back before', async () => {
    room.presence.enter(session, owner.principal);
    await room.log.append(session, 1, { type: 'thought', text: 'the write of the mark is behind this one' });
    await room.close();
    room = await openRoom(60_000);
    await room.asks.adopt(session);
    room.presence.enter(session, 'prn_observer');
    const { id } = await ask({ timeoutMs: 60 });
    assert.equal((await room.asks.wait(session, id)).outcome, 'timeout');
  });

  test('of an earlier version know after the upgrade that their owner was there', async () => {
    await ask();
    await room.close();
    const db = new DatabaseSync(join(folder, 'state.db'));
    db.exec(`DROP TABLE callers_seen; CREATE TABLE callers_seen (session_id TEXT PRIMARY KEY) STRICT;
      INSERT INTO callers_seen VALUES ('${session}'); UPDATE schema_steps SET step = 3 WHERE component = 'asks'`);
    db.close();
    room = await openRoom();
    await room.asks.adopt(session);
    const { id } = await ask();
    assert.equal((await room.asks.wait(session, id)).outcome, 'disconnected');
  });

  test('wait through a disconnect when the caller asked for that', async () => {
    const leave = room.presence.enter(session, owner.principal);
    const { id } = await ask({ onDisconnect: 'wait' });
    leave();
    await room.asks.answer(session, id, owner, { outcome: 'error', message: 'recipient not found' });
    assert.deepEqual(await room.asks.wait(session, id), { outcome: 'error', message: 'recipient not found' });
  });

  test('survive a restart and can then be answered once', async () => {
    const { id } = await ask();
    await room.close();
    room = await openRoom();
    await room.asks.adopt(session);
    const waiting = room.asks.wait(session, id);
    await room.asks.answer(session, id, owner, { outcome: 'result', value: 'late' });
    assert.deepEqual(await waiting, { outcome: 'result', value: 'late' });
  });

  test('give an owner who was there the grace period after a restart, then fail', async () => {
    room.presence.enter(session, owner.principal);
    const first = await ask();
    await room.log.append(session, 1, { type: 'thought', text: 'the write of the mark is behind this one' });
    await room.close();
    room = await openRoom(80);
    const started = performance.now();
    await room.asks.adopt(session);
    const second = await ask();
    const outcomes = await Promise.all([room.asks.wait(session, first.id), room.asks.wait(session, second.id)]);
    assert.deepEqual(outcomes, [{ outcome: 'disconnected' }, { outcome: 'disconnected' }]);
    assert.ok(performance.now() - started >= 79);
  });

  test('go on when the owner is back within the grace period', async () => {
    room.presence.enter(session, owner.principal);
    const { id } = await ask({ timeoutMs: 3000 });
    await room.log.append(session, 1, { type: 'thought', text: 'the write of the mark is behind this one' });
    await room.close();
    room = await openRoom(1000);
    await room.asks.adopt(session);
    room.presence.enter(session, owner.principal);
    assert.equal((await room.asks.wait(session, id)).outcome, 'timeout');
  });

  test('of an earlier version are found again under their key after the upgrade', async () => {
    await ask({ key: 'call-1' });
    await room.db.write((db) => db.run("UPDATE asks SET id = 'ask_older'"));
    await room.close();
    room = await openRoom();
    await room.asks.adopt(session);
    assert.equal((await ask({ key: 'call-1' })).id, 'ask_older');
    assert.equal((await events()).length, 1);
  });

  test('are found again under the key of the asking side', async () => {
    const [one, two] = await Promise.all([ask({ key: 'call-1' }), ask({ key: 'call-1' })]);
    assert.equal(one.id, two.id);
    assert.equal((await events()).length, 1);
    await room.asks.answer(session, one.id, owner, { outcome: 'result', value: 1 });
    const again = await ask({ key: 'call-1' });
    assert.deepEqual(await room.asks.wait(session, again.id), { outcome: 'result', value: 1 });
  });

  test('are answered by a process that did not ask', async () => {
    const { id } = await ask();
    const waiting = room.asks.wait(session, id);
    const mine = room;
    const other = await openRoom();
    await other.asks.answer(session, id, owner, { outcome: 'result', value: 'from afar' });
    assert.deepEqual(await waiting, { outcome: 'result', value: 'from afar' });
    await other.close();
    room = mine;
  });

  test('of permission take only a choice that was offered', async () => {
    const { id } = await room.asks.askPermission({
      sessionId: session,
      owner: owner.principal,
      turn: 1,
      tool: 'write',
      timeoutMs: 5000,
      options: [{ id: 'yes', name: 'Allow' }],
    });
    await assert.rejects(
      room.asks.answer(session, id, owner, { outcome: 'choice', choice: 'maybe' }),
      code('request.invalid'),
    );
    await assert.rejects(room.asks.answer(session, id, owner, { outcome: 'result', value: 1 }), code('ask.not_found'));
    await room.asks.answer(session, id, owner, { outcome: 'choice', choice: 'yes' });
    assert.deepEqual(await room.asks.wait(session, id), { outcome: 'choice', choice: 'yes' });
  });

  test('are all closed in the transaction that ends their session', async () => {
    const { id } = await ask();
    const waiting = room.asks.wait(session, id);
    await room.log.write((tx) => room.asks.closeAll(tx, session));
    assert.deepEqual(await waiting, { outcome: 'disconnected' });
  });
});
