import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { Database, openEvents, redactor } from '../store/index.ts';
import { eventLog, type EventLog, type Followed } from './index.ts';

let folder: string;
let db: Database;
let log: EventLog;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-log-'));
  db = new Database(join(folder, 'state.db'));
  log = eventLog({ db, events: await openEvents(db, folder), pollMs: 20 });
});
after(async () => {
  log.close();
  await db.close();
  await rm(folder, { recursive: true });
});

let count = 0;
const newSession = (): string => `ses_${count++}`;
const say = (text: string) => ({ type: 'thought', text }) as const;

/** Reads a stream until `enough` holds, and answers all it saw. */
async function collect(
  sessionId: string,
  cursor: number | undefined,
  enough: (seen: number[]) => boolean,
): Promise<{ indexes: number[]; items: Followed[] }> {
  const stop = new AbortController();
  const indexes: number[] = [];
  const items: Followed[] = [];
  for await (const item of log.follow(sessionId, { after: cursor, signal: stop.signal })) {
    items.push(item);
    if (item.kind === 'events') indexes.push(...item.events.map((event) => event.index));
    if (enough(indexes)) stop.abort();
  }
  return { indexes, items };
}

describe('event log', () => {
  test('numbers events of each session from 0 without a gap, however many write at once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 4 })), { maxLength: 40 }),
        async (writes) => {
          const sessions = [newSession(), newSession(), newSession()];
          await Promise.all(
            writes.map(([which, many]) =>
              log.append(sessions[which]!, 1, ...Array.from({ length: many }, () => say('x'))),
            ),
          );
          for (const [which, sessionId] of sessions.entries()) {
            const total = writes.filter(([each]) => each === which).reduce((sum, [, many]) => sum + many, 0);
            const events = await log.read(sessionId, -1, 1000);
            assert.deepEqual(
              events.map((event) => event.index),
              Array.from({ length: total }, (_, index) => index),
            );
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test('gives a reader that is cut and resumes again and again each event exactly once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 15 }), { maxLength: 8 }),
        async (bursts, cuts) => {
          const sessionId = newSession();
          const total = bursts.reduce((sum, many) => sum + many, 0);
          const writing = (async () => {
            for (const many of bursts)
              await log.append(sessionId, 1, ...Array.from({ length: many }, (_, i) => say(String(i))));
          })();
          const seen: number[] = [];
          let cursor: number | undefined;
          for (const cut of [...cuts, Infinity]) {
            const { indexes } = await collect(
              sessionId,
              cursor,
              (now) => now.length >= cut || seen.length + now.length >= total,
            );
            seen.push(...indexes);
            if (seen.length > 0) cursor = seen[seen.length - 1];
            if (seen.length >= total) break;
          }
          await writing;
          assert.deepEqual(
            seen,
            Array.from({ length: total }, (_, index) => index),
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  test('resets a cursor that lies outside the log and replays from the oldest', async () => {
    const sessionId = newSession();
    await log.append(sessionId, 1, say('a'), say('b'));
    const { items, indexes } = await collect(sessionId, 99, (now) => now.length === 2);
    assert.deepEqual(
      items.map((item) => item.kind),
      ['hello', 'reset', 'events'],
    );
    assert.deepEqual(indexes, [0, 1]);
  });

  test('does not reset a reader without a cursor or one that is up to date', async () => {
    const sessionId = newSession();
    await log.append(sessionId, 1, say('a'));
    setTimeout(() => void log.append(sessionId, 1, say('b')), 10);
    const { items } = await collect(sessionId, 0, (now) => now.length === 1);
    assert.deepEqual(
      items.map((item) => item.kind),
      ['hello', 'events'],
    );
  });

  test('shares one batch among readers that stand at the same place', async () => {
    const sessionId = newSession();
    const stop = new AbortController();
    const streams = Array.from({ length: 3 }, () => log.follow(sessionId, { signal: stop.signal }));
    for (const stream of streams) await stream.next();
    const waiting = streams.map((stream) => stream.next());
    await new Promise(setImmediate);
    await log.append(sessionId, 1, say('a'));
    const batches = (await Promise.all(waiting)).map((each) => each.value);
    assert.equal(new Set(batches).size, 1);
    stop.abort();
  });

  test('shows deltas live, in their place, and never to a later reader', async () => {
    const sessionId = newSession();
    const stop = new AbortController();
    const stream = log.follow(sessionId, { signal: stop.signal });
    await stream.next();
    const next = stream.next();
    await new Promise(setImmediate);
    log.delta({ type: 'delta', session_id: sessionId, turn: 1, of: 'message', text: 'Hel' });
    assert.equal((await next).value!.kind, 'delta');
    await log.append(sessionId, 1, say('Hello'));
    assert.equal((await stream.next()).value!.kind, 'events');
    stop.abort();
    const late = await collect(sessionId, undefined, (now) => now.length === 1);
    assert.ok(late.items.every((item) => item.kind !== 'delta'));
  });

  test('hides a secret that is said live in several pieces', async () => {
    const hide = redactor({ version: () => 1, all: () => [{ name: 'KEY', value: 's3cr3t-value' }] });
    const careful = eventLog({ db, events: await openEvents(db, folder), redactPieces: () => hide.items() });
    const sessionId = newSession();
    const stop = new AbortController();
    const stream = careful.follow(sessionId, { signal: stop.signal });
    await stream.next();
    const said: string[] = [];
    const next = stream.next();
    await new Promise(setImmediate);
    for (const text of ['it is s3', 'cr3t-', 'value', ', ok.'])
      careful.delta({ type: 'delta', session_id: sessionId, turn: 1, of: 'message', text });
    for (let coming = next; said.length < 2; coming = stream.next()) {
      const item = (await coming).value;
      if (item?.kind === 'delta') said.push(item.delta.text);
      if (said.length === 2) break;
    }
    assert.equal(said.join(''), 'it is [secret:KEY], ok.');
    stop.abort();
    careful.close();
  });

  test('stores what belongs to the events in the same transaction, or neither', async () => {
    const sessionId = newSession();
    await assert.rejects(
      log.write((tx) => {
        tx.append(sessionId, 1, say('lost'));
        throw new Error('no');
      }),
    );
    assert.equal((await log.bounds(sessionId)).newest, -1);
  });

  test('notices what another process appends', async () => {
    const sessionId = newSession();
    await log.append(sessionId, 1, say('mine'));
    const other = new Database(join(folder, 'state.db'));
    const theirs = eventLog({ db: other, events: await openEvents(other, folder) });
    setTimeout(() => void theirs.append(sessionId, 1, say('theirs')), 20);
    const { indexes } = await collect(sessionId, undefined, (now) => now.length === 2);
    assert.deepEqual(indexes, [0, 1]);
    theirs.close();
    await other.close();
  });

  test('ends the streams of a log that is removed', async () => {
    const sessionId = newSession();
    await log.append(sessionId, 1, say('a'));
    setTimeout(() => void log.write((tx) => tx.remove(sessionId)), 20);
    const { indexes } = await collect(sessionId, undefined, () => false);
    assert.deepEqual(indexes, [0]);
    assert.deepEqual(await log.read(sessionId, -1, 10), []);
  });

  test('keeps a slow reader exact when the newest events no longer fit in memory', async () => {
    const sessionId = newSession();
    const stop = new AbortController();
    const stream = log.follow(sessionId, { signal: stop.signal });
    await stream.next();
    for (let i = 0; i < 60; i++) await log.append(sessionId, 1, ...Array.from({ length: 100 }, () => say('x')));
    const seen: number[] = [];
    for await (const item of stream) {
      if (item.kind === 'events') seen.push(...item.events.map((event) => event.index));
      if (seen.length >= 6000) stop.abort();
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 6000 }, (_, index) => index),
    );
  });
});

test('secrets are taken out before an event is stored or shown', async () => {
  const hide = redactor({ version: () => 1, all: () => [{ name: 'KEY', value: 'very-secret-value' }] });
  const careful = eventLog({ db, events: await openEvents(db, folder), redact: (value) => hide.value(value) });
  const sessionId = newSession();
  await careful.append(sessionId, 0, say('it is very-secret-value, in hex 766572792d7365637265742d76616c7565'));
  const [event] = await careful.read(sessionId, -1, 1);
  assert.equal((event as { text: string }).text, 'it is [secret:KEY], in hex [secret:KEY]');
  careful.close();
});
