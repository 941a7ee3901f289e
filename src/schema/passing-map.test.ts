import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from '../../test/kit/fast-check.ts';
import { PassingMap } from './passing-map.ts';

test('holds what a map would hold, however often it begins anew', () => {
  const step = fc.record({ kind: fc.constantFrom('set', 'delete', 'clear'), key: fc.nat(5), times: fc.nat(300) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const passing = new PassingMap<number, number>();
      const plain = new Map<number, number>();
      for (const [at, { kind, key, times }] of steps.entries()) {
        if (kind === 'clear') {
          passing.clear();
          plain.clear();
        }
        if (kind === 'set') {
          passing.set(key, at);
          plain.set(key, at);
        }
        if (kind === 'delete') {
          assert.equal(passing.delete(key), plain.delete(key));
          for (let i = 0; i < times; i++) {
            passing.set(-1, i);
            passing.delete(-1);
          }
        }
        assert.equal(passing.size, plain.size);
        assert.equal(passing.has(key), plain.has(key));
        assert.equal(passing.get(key), plain.get(key));
        assert.deepEqual([...passing.values()].sort(), [...plain.values()].sort());
      }
    }),
  );
});

test('lets what has passed be collected without a look through the whole heap', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const passing = new PassingMap<number, object>();
  passing.set(-1, {});
  // Whatever is there now counts as old.
  collect();
  collect();
  const before = getHeapStatistics().used_heap_size;
  for (let id = 0; id < 2_000; id++) {
    passing.set(
      id,
      Array.from({ length: 200 }, (_, i) => ({ i })),
    );
    passing.delete(id - 8);
    if (id % 100 === 0) collect({ type: 'minor' });
  }
  collect({ type: 'minor' });
  const grownMb = (getHeapStatistics().used_heap_size - before) / 1024 / 1024;
  assert.ok(grownMb < 5, `${grownMb.toFixed(1)} MB are left of what is gone`);
});
