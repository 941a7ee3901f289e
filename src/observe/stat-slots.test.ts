import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Database } from '../store/index.ts';
import { record } from './fixtures/opened-observers.ts';
import { runsOf } from './runs.ts';
import { StatSlots } from './stat-slots.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

let db: Database;
let slots: StatSlots;
beforeEach(async () => {
  db = new Database(':memory:');
  slots = await StatSlots.open(db, (error) => assert.fail(error as Error));
});
afterEach(async () => {
  await slots.close();
  await db.close();
});

/** One call per five minutes, as many as are asked for, the first at a whole day. */
function calls(count: number, daysAgo: number, fields: object = {}): void {
  const first = Math.floor((Date.now() - daysAgo * dayMs) / dayMs) * dayMs;
  for (let i = 0; i < count; i++)
    for (const run of runsOf([record({ at: new Date(first + i * 5 * minuteMs).toISOString(), ...fields })]))
      slots.add(run);
}
const rows = (): number => db.get<{ n: number }>('SELECT count(*) AS n FROM stat_slots')!.n;

describe('slots of statistics', () => {
  test('are put together by the hour after two days and by the day after five weeks, however many wait', async () => {
    calls(288 * 20, 60);
    calls(288 * 10, 20);
    calls(3, 0);
    const before = await slots.stats({ period: 'all' });
    assert.equal(rows(), 288 * 30 + 3);
    await slots.tidy();
    assert.equal(rows(), 20 + 240 + 3);
    assert.deepEqual(await slots.stats({ period: 'all' }), before);
    await slots.tidy();
    assert.equal(rows(), 20 + 240 + 3, 'nothing is left to do');
  });

  test('of sessions long gone become one, of tokens they stay apart', async () => {
    for (let i = 0; i < 50; i++)
      calls(2, 60, { principal: `session:ses_${i}`, tokenId: `tok_${i}`, projectId: 'proj_1' });
    for (let i = 0; i < 3; i++) calls(2, 60, { principal: `pri_${i}` });
    await slots.stats({ period: 'all' });
    await slots.tidy();
    assert.equal(rows(), 1 + 3);
    const ofProject = await slots.stats({ period: 'all', reach: { projects: ['proj_1'] } });
    assert.equal(ofProject.total_calls, 100);
    assert.equal((await slots.stats({ period: 'all', reach: { principal: 'pri_1' } })).total_calls, 2);
  });

  test('are read in portions between which others get their turn', async () => {
    calls(10_000, 60);
    await slots.stats({ period: 'day' });
    let turns = 0;
    let isOver = false;
    const count = (): void => void (isOver || (turns++, setImmediate(count)));
    setImmediate(count);
    const { total_calls } = await slots.stats({ period: 'all' });
    isOver = true;
    assert.equal(total_calls, 10_000);
    assert.ok(turns >= 9, `${turns} turns for ten portions`);
  });

  test('do not move while someone reads them, and are moved the next time', async () => {
    calls(288 * 10, 20);
    await slots.stats({ period: 'day' });
    const [seen] = await Promise.all([slots.stats({ period: 'all' }), slots.tidy()]);
    assert.equal(seen.total_calls, 288 * 10);
    await slots.tidy();
    assert.equal(rows(), 240);
  });
});
