import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseUuid7 } from '../../../../src/schema/ids.ts';
import { isSlug, isVersion } from '../../../../src/schema/names.ts';
import { asCsv, filledSeries } from '../stats/stats-data.ts';
import { pythonValue } from './copy-as.ts';
import { piecesOf } from './placeholders.ts';
import { newBundleId, nextVersion, slugOf } from './tool-body.ts';

describe('what the page makes up', () => {
  test('are ids and slugs that the server takes', () => {
    assert.ok(parseUuid7(newBundleId()));
    assert.ok(newBundleId(1) < newBundleId(2 ** 41));
    for (const name of ['City maps!', 'Ünïcode 名前', ' -- a -- ']) assert.ok(isSlug(slugOf(name)), name);
  });
  test('is the next version', () => {
    assert.deepEqual(['v1', '1.0.9', 'beta', '9'].map(nextVersion), ['v2', '1.0.10', 'beta-2', '10']);
    for (const version of ['v1', 'beta', '1.0']) assert.ok(isVersion(nextVersion(version)));
  });
});

describe('placeholders', () => {
  const origins = { args: new Set(['city', 'list']), secrets: new Set(['KEY', 'city']) };
  const found = (text: string) =>
    piecesOf(text, origins).flatMap(({ name, origin }) => (origin ? [[name, origin]] : []));
  test('come from arguments first, then from secrets, else from nowhere', () => {
    assert.deepEqual(found('${city}/${list[1].a}?k=${KEY}&x=${nope}'), [
      ['city', 'argument'],
      ['list[1].a', 'argument'],
      ['KEY', 'secret'],
      ['nope', 'unknown'],
    ]);
  });
  test('are not where a dollar is doubled', () => assert.deepEqual(found('$${city} ${city}'), [['city', 'argument']]));
  test('leave the text as it is typed', () => {
    const text = 'a ${city} $${x} ${';
    assert.equal(
      piecesOf(text, origins)
        .map((piece) => piece.text)
        .join(''),
      text,
    );
  });
});

test('a JSON value is written as Python writes it', () => {
  assert.equal(pythonValue({ a: [true, null, 'x"y', 1.5] }), '{"a": [True, None, "x\\"y", 1.5]}');
});

test('CSV cells cannot become formulas', () => {
  assert.equal(asCsv([{ name: '=1+1', value: 'a,"b"' }]), 'name,value\r\n\'=1+1,"a,""b"""');
});

test('a chart covers its whole period, with gaps where nothing was called', () => {
  const now = Date.parse('2026-11-15T10:30:00Z');
  const point = {
    at: '2026-11-15T09:00:00.000Z',
    calls: 2,
    failures: 0,
    p50_ms: 5,
    p95_ms: 9,
    tokens_saved: 0,
    tokens_spent: 0,
    result_bytes: 1,
  };
  const day = filledSeries([point], 3_600_000, 'day', now);
  assert.equal(day.length, 24);
  assert.deepEqual(
    day.filter((each) => each.calls > 0),
    [point],
  );
  assert.equal(day.at(-1)?.p50_ms, null);
});
