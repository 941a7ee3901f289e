import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { ToldByOthers, type ToldRow } from './told-by-others.ts';

describe('what other processes told', () => {
  const row = fc.record({
    name: fc.constantFrom('a', 'b', 'c', null),
    owner: fc.constantFrom('x', 'y'),
    isOurs: fc.boolean(),
  });
  const step = fc.record({
    rows: fc.array(row, { maxLength: 4 }),
    since: fc.nat({ max: 30 }),
    isOursNext: fc.boolean(),
  });
  const files = fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'd'), owner: fc.constantFrom('x', 'y') }));

  it('stands against the same files as all rows since do, wherever one begins, though each row is read once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), files, (steps, wanted) => {
        const told = new ToldByOthers();
        const all: (ToldRow & { isOurs: boolean })[] = [];
        for (const { rows, since, isOursNext } of steps) {
          for (const { name, owner, isOurs } of rows)
            all.push({ seq: all.length + 1, name, owner: name === null ? null : owner, isOurs });
          const after = (from: number): ToldRow[] => all.filter(({ seq, isOurs }) => seq > from && !isOurs);
          told.take(after(told.upTo(since)), since, all.length);
          const others = after(since);
          assert.equal(told.size, others.length);
          const isAgainst = others.some(
            (other) =>
              other.name === null || wanted.some(({ name, owner }) => name === other.name && owner !== other.owner),
          );
          assert.equal(told.standAgainst(wanted), isAgainst);
          assert.deepEqual(after(told.upTo(since)), []);
          if (isOursNext) {
            all.push({ seq: all.length + 1, name: 'a', owner: 'x', isOurs: true });
            told.readUpTo(all.length);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});
