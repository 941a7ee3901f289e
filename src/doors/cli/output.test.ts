import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seconds } from './commands/tokens.ts';
import { columns, harmless, oneLine } from './output.ts';

test('columns line up by what a person sees', () => {
  assert.equal(
    columns([
      ['a', 'bb'],
      ['ccc', 'd'],
    ]),
    'a    bb\nccc  d',
  );
  assert.equal(
    columns([
      ['\u001b[36ma\u001b[39m', 'x'],
      ['ccc', 'y'],
    ]),
    '\u001b[36ma\u001b[39m    x\nccc  y',
  );
  assert.equal(
    columns([
      ['a', ''],
      ['bb', 'c'],
    ]),
    'a\nbb  c',
    'nothing hangs behind a line',
  );
  assert.equal(
    columns([
      ['字字', 'x'],
      ['🧨é', 'y'],
      ['abcd', 'z'],
    ]),
    '字字  x\n🧨é   y\nabcd  z',
  );
  assert.equal(columns([]), '');
});

test('a narrow terminal gets less of the last column, and one long name does not push the others apart', () => {
  const text = 'a text that is longer than the line';
  assert.equal(columns([['name', text]], 26), 'name  a text that is long…');
  assert.equal(columns([['name', text]], 10), `name  ${text}`, 'too narrow to be of use');
  const [long, short] = columns([
    ['x'.repeat(100), 'a'],
    ['y', 'b'],
  ]).split('\n');
  assert.deepEqual([long, short], [`${'x'.repeat(100)}  a`, `y${' '.repeat(45)}b`]);
});

test('text of others cannot steer the terminal', () => {
  assert.equal(harmless('a\u001b[31mb\u0007\u202ec\n\td'), 'a[31mbc\n\td');
  assert.equal(oneLine('a\n  b', 10), 'a b');
  assert.equal(oneLine('abcdef', 4), 'abc…');
  assert.equal(oneLine('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 4), '👩‍👩‍👧‍👦…', 'letters stay whole');
});

test('times are written short', () => {
  assert.deepEqual(['90', '30s', '15m', '1h', '7d', '2w'].map(seconds), [90, 30, 900, 3600, 604_800, 1_209_600]);
  for (const wrong of ['', '0', '-1h', '1y', 'h', '1.5h', '99999999999999999999d'])
    assert.throws(() => seconds(wrong), /is no time/, wrong);
});
