import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { Database, openEvents, type EventTables } from '../store/index.ts';
import { eventLog, type EventLog } from './index.ts';

const project = 'proj_1';
let folder: string;
let db: Database;
let events: EventTables;
let log: EventLog;

async function openRoom(): Promise<void> {
  db = new Database(join(folder, 'state.db'));
  events = await openEvents(db, join(folder, 'projects'));
  log = eventLog({ db, events, pollMs: 20 });
}
async function closeRoom(): Promise<void> {
  log.close();
  await db.close();
}
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'oub-moved-'));
  await mkdir(join(folder, 'projects', project), { recursive: true });
  await openRoom();
});
afterEach(async () => {
  await closeRoom();
  await rm(folder, { recursive: true });
});

const say = (text: string) => ({ type: 'thought', text }) as const;
const files = (): Promise<string[]> => readdir(join(folder, 'projects', project, 'logs')).catch(() => []);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** The indexes that a stream from a cursor has, until the newest one. */
async function streamed(
  sessionId: string,
  after: number | undefined,
  newest: number,
): Promise<{ kinds: string[]; indexes: number[] }> {
  const stop = new AbortController();
  const kinds: string[] = [];
  const indexes: number[] = [];
  for await (const item of log.follow(sessionId, { ...(after !== undefined && { after }), signal: stop.signal })) {
    kinds.push(item.kind);
    if (item.kind === 'events') indexes.push(...item.events.map((event) => event.index));
    if ((indexes.at(-1) ?? after) === newest) stop.abort();
  }
  return { kinds, indexes };
}

describe('a log that rests in files', () => {
  test('is read from any cursor as if it had never moved, also when it went on and moved again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), fc.boolean()), { minLength: 1, maxLength: 6 }),
        fc.nat(),
        async (bursts, from) => {
          const sessionId = `ses_${from}_${Math.random()}`;
          let total = 0;
          for (const [many, isMoved] of bursts) {
            assert.equal(
              await log.append(sessionId, 1, ...Array.from({ length: many }, (_, i) => say(`é ${total + i}\n\n`))),
              total + many - 1,
            );
            total += many;
            if (isMoved) await log.moveToFile(sessionId, project);
          }
          const after = (from % (total + 1)) - 1;
          assert.deepEqual(await log.bounds(sessionId), { oldest: 0, newest: total - 1 });
          const read = await log.read(sessionId, after, 10_000);
          assert.deepEqual(
            read.map((event) => [event.index, (event as { text: string }).text]),
            upTo(total)
              .slice(after + 1)
              .map((index) => [index, `é ${index}\n\n`]),
          );
          assert.deepEqual((await streamed(sessionId, after, total - 1)).indexes, upTo(total).slice(after + 1));
        },
      ),
      { numRuns: 25 },
    );
  });

  test('leaves the table, and its file is readable by the owner alone', async () => {
    await log.append('ses_1', 1, say('a'), say('b'));
    assert.deepEqual(log.inTable(), ['ses_1']);
    await log.moveToFile('ses_1', project);
    assert.deepEqual(log.inTable(), []);
    const [name] = await files();
    assert.equal((await stat(join(folder, 'projects', project, 'logs', name!))).mode & 0o777, 0o600);
    await closeRoom();
    await openRoom();
    assert.deepEqual(
      (await log.read('ses_1', -1, 10)).map((event) => event.index),
      [0, 1],
    );
    assert.equal(await log.append('ses_1', 2, say('c')), 2);
  });

  test('moves under streams that read it, and each of them has every event once', async () => {
    await log.append('ses_1', 1, ...Array.from({ length: 5000 }, () => say('x'.repeat(200))));
    const reading = Promise.all([
      streamed('ses_1', undefined, 5049),
      streamed('ses_1', 700, 5049),
      streamed('ses_1', 4999, 5049),
    ]);
    await log.moveToFile('ses_1', project);
    await log.append('ses_1', 1, ...Array.from({ length: 50 }, () => say('y')));
    await log.moveToFile('ses_1', project);
    const [whole, part, end] = await reading;
    assert.deepEqual(whole!.indexes, upTo(5050));
    assert.deepEqual(part!.indexes, upTo(5050).slice(701));
    assert.deepEqual(end!.indexes, upTo(5050).slice(5000));
    assert.ok([whole, part, end].every((each) => !each!.kinds.includes('reset')));
  });

  test('is moved once when several processes try', async () => {
    await log.append('ses_1', 1, ...Array.from({ length: 500 }, () => say('x')));
    const other = new Database(join(folder, 'state.db'));
    const theirs = await openEvents(other, join(folder, 'projects'));
    await Promise.all([
      events.moveToFile('ses_1', project),
      theirs.moveToFile('ses_1', project),
      events.moveToFile('ses_1', project),
    ]);
    await other.close();
    assert.equal((await files()).length, 1);
    assert.deepEqual(
      (await log.read('ses_1', -1, 1000)).map((event) => event.index),
      upTo(500),
    );
  });

  test('is removed from both places, and a cursor into it gets a reset', async () => {
    await log.append('ses_1', 1, say('a'), say('b'));
    await log.moveToFile('ses_1', project);
    await log.append('ses_1', 1, say('c'));
    await log.write((tx) => tx.remove('ses_1'));
    while ((await files()).length > 0) await new Promise(setImmediate);
    assert.deepEqual(await log.read('ses_1', -1, 10), []);
    await log.append('ses_1', 1, say('anew'));
    assert.deepEqual(await streamed('ses_1', 2, 0), { kinds: ['hello', 'reset', 'events'], indexes: [0] });
  });

  test('whose file was taken away goes on with what is left, after a reset', async () => {
    await log.append('ses_1', 1, say('a'), say('b'));
    await log.moveToFile('ses_1', project);
    await log.append('ses_1', 1, say('c'));
    await rm(join(folder, 'projects', project, 'logs'), { recursive: true });
    assert.deepEqual(
      (await log.read('ses_1', -1, 10)).map((event) => event.index),
      [2],
    );
    assert.deepEqual(await log.bounds('ses_1'), { oldest: 2, newest: 2 });
    assert.deepEqual(await streamed('ses_1', 0, 2), { kinds: ['hello', 'reset', 'events'], indexes: [2] });
  });

  test('does not bring back the folder of a project that is gone', async () => {
    await log.append('ses_1', 1, say('a'));
    await rm(join(folder, 'projects', project), { recursive: true });
    await log.moveToFile('ses_1', project);
    assert.deepEqual(await readdir(join(folder, 'projects')), []);
    assert.equal((await log.read('ses_1', -1, 10)).length, 1);
  });

  test('leaves no stray file for long, and no stray file harms it', async () => {
    await log.append('ses_1', 1, say('a'));
    await log.moveToFile('ses_1', project);
    const stray = join(folder, 'projects', project, 'logs', 'ses_1.0123.events');
    await writeFile(stray, 'half a fra');
    await events.sweep();
    assert.equal((await files()).length, 2);
    await utimes(stray, 1, 1);
    await events.sweep();
    assert.equal((await files()).length, 1);
    assert.equal((await log.read('ses_1', -1, 10)).length, 1);
  });

  test('loses and doubles nothing when its server is killed at any moment', async () => {
    let acknowledged = -1;
    for (let kill = 0; kill < 6; kill++) {
      const child = spawn(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'fixtures', 'moving-writer.ts'), folder],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      while (said.split('\n').length < 20 + kill * 7) await once(child.stdout, 'data');
      child.kill('SIGKILL');
      await once(child, 'close');
      acknowledged = Math.max(acknowledged, Number(said.split('\n').at(-2)));
      const { oldest, newest } = await log.bounds('ses_1');
      assert.equal(oldest, 0);
      assert.ok(newest >= acknowledged, `${newest} is stored, ${acknowledged} was acknowledged`);
      assert.deepEqual(
        (await log.read('ses_1', -1, 100_000)).map((event) => event.index),
        upTo(newest + 1),
      );
    }
  });
});
