import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId, newUuid, parseUuid7 } from './ids.ts';

test('ids sort in the order in which they were made, also within one millisecond, and are never the same', () => {
  const ids = Array.from({ length: 20_000 }, () => newId('ses'));
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^ses_[0-9a-hjkmnp-tv-z]{26}$/);
});

test('knowing one id does not tell the next', () => {
  const tails = Array.from({ length: 1000 }, () => newId('tok').slice(-13));
  assert.equal(new Set(tails).size, tails.length);
});

test('UUIDs are of version 7, sort in the order in which they were made, and are never the same', () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, newUuid);
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) {
    assert.equal(parseUuid7(id), id);
    const madeAt = parseInt(id.replace('-', '').slice(0, 12), 16);
    assert.ok(madeAt >= before && madeAt <= Date.now());
  }
  assert.equal(new Set(ids.map((id) => id.slice(-12))).size, ids.length);
});
