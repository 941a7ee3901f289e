import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Gathering } from './gathering.ts';

describe('a gathering', () => {
  /** How many turns of the event loop it took. */
  const turnsOf = async (gathering: Promise<void>): Promise<number> => {
    let isOver = false;
    void gathering.then(() => (isOver = true));
    let turns = 0;
    for (; !isOver; turns++) await nextTurn();
    return turns;
  };

  it('goes when all are there, with whoever comes in the same turn', async () => {
    const gathering = new Gathering();
    let waiting = 1;
    const going = gathering.until(3, waiting).then(() => waiting);
    gathering.arrived(++waiting);
    gathering.arrived(++waiting);
    gathering.arrived(++waiting);
    assert.equal(await going, 4);
    gathering.arrived(++waiting);
    await gathering.until(5, waiting);
  });

  it('goes after a moment when nobody comes', async () => {
    let isOver = false;
    const going = new Gathering().until(2, 1).then(() => (isOver = true));
    // All that could be done at once is done.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    assert.equal(isOver, false);
    await going;
  });

  it('waits for those who were answered together a moment ago, and for nobody else', async () => {
    const gathering = new Gathering();
    const isWaitedFor = async (): Promise<boolean> => {
      gathering.answered(2);
      let isOver = false;
      const going = gathering.again(1).then(() => (isOver = true));
      await new Promise<void>((resolve) => process.nextTick(resolve));
      const hasWaited = !isOver;
      gathering.arrived(2);
      await going;
      return hasWaited;
    };
    // On a busy machine the moment may be over before it is asked.
    for (let n = 0; !(await isWaitedFor()); n++) assert.ok(n < 100, 'never waited for');

    gathering.answered(1);
    assert.ok((await turnsOf(gathering.again(1))) <= 1);
    gathering.answered(2);
    await sleep(10);
    assert.ok((await turnsOf(gathering.again(1))) <= 1);
  });

  it('does not wait for those who never come, and waits again when they do', async () => {
    const gathering = new Gathering();
    for (let n = 0; n < 4; n++) await gathering.until(2, 1);
    const turns: number[] = [];
    for (let n = 0; n < 31; n++) turns.push(await turnsOf(gathering.until(2, 1)));
    assert.ok(turns.filter((each) => each <= 1).length >= 30, String(turns));
    // Now and then it tries again.
    for (let n = 0; n < 32; n++) {
      const going = gathering.until(2, 1);
      gathering.arrived(2);
      await going;
    }
    const isWaitedFor = async (): Promise<boolean> => {
      const going = turnsOf(gathering.until(2, 1));
      await nextTurn();
      gathering.arrived(2);
      return (await going) >= 2;
    };
    // On a busy machine the moment may be over before the first turn is.
    for (let n = 0; !(await isWaitedFor()); n++) {
      assert.ok(n < 100, 'never waited for');
      const together = gathering.until(2, 1);
      gathering.arrived(2);
      await together;
    }
  });
});
