import { test } from 'node:test';
import assert from 'node:assert/strict';
import fc from '../../../test/kit/fast-check.ts';
import { parse } from 'yaml';
import { longYamlFlow, yamlFlow } from './yaml-flow.ts';

test('a map of scalars is one flow map', () => {
  assert.equal(
    yamlFlow({ name: 'brave', tool_count: 3, ok: true, none: null }),
    '{name: brave, tool_count: 3, ok: true, none: null}',
  );
  assert.equal(yamlFlow({ aliases: {}, snippets: {}, servers: [] }), '{aliases: {}, snippets: {}, servers: []}');
});

test('a list of maps is a block sequence of flow items', () => {
  assert.equal(
    yamlFlow([
      { name: 'a', description: 'x' },
      { name: 'b', args: ['p: q'] },
    ]),
    '- {name: a, description: x}\n- {name: b, args: ["p: q"]}',
  );
});

test('a long list reads the same as a short one', async () => {
  const many = Array.from({ length: 630 }, (_, i) => ({ name: `n${i}`, args: ['a: b'] }));
  assert.equal(await longYamlFlow(many), yamlFlow(many));
  assert.equal(await longYamlFlow([{ a: 1 }]), '- {a: 1}');
  assert.deepEqual([await longYamlFlow(null), await longYamlFlow(5), await longYamlFlow('no')], ['null', '5', '"no"']);
});

test('long lists of strings read the same as short ones, alone and in a map, and there is no end to them', async () => {
  const many = Array.from({ length: 1300 }, (_, i) => (i % 7 ? `line ${i}: yes` : 'no'));
  assert.equal(await longYamlFlow(many), yamlFlow(many));
  const answer = { lines: many, total_lines: 1300, few: ['a'], more: many, has_more: false };
  assert.equal(await longYamlFlow(answer), yamlFlow(answer));
  const odd = { lines: many.map((line) => `${line}\n[${line}]$& `), n: 1 };
  assert.deepEqual(parse(await longYamlFlow(odd)), odd);
  const endless = Array.from({ length: 200_000 }, () => 'ab');
  assert.equal((await longYamlFlow({ lines: endless })).length, 'lines: []'.length + 200_000 * 4 - 2);
});

test('a list of strings is one flow list', () => {
  assert.equal(yamlFlow(['a.b', 'c.d']), '[a.b, c.d]');
  assert.equal(yamlFlow([]), '[]');
});

test('a map with nested values has block keys with flow values', () => {
  assert.equal(
    yamlFlow({
      version: '1.0.0',
      registry: { status: 'ok', tool_count: 15 },
      proxy: { status: 'ok', servers: { github: 'connected' } },
    }),
    'version: "1.0.0"\nregistry: {status: ok, tool_count: 15}\nproxy: {status: ok, servers: {github: connected}}',
  );
});

test('never more than two flow levels inside one another', () => {
  const deep = { a: { b: { c: { d: { e: 1 } } } }, l: [[[[1]]]] };
  const text = yamlFlow(deep);
  assert.deepEqual(parse(text), deep);
  for (const line of text.split('\n')) {
    let level = 0;
    let most = 0;
    for (const char of line) {
      if (char === '{' || char === '[') most = Math.max(most, ++level);
      if (char === '}' || char === ']') level--;
    }
    assert.ok(most <= 2, line);
  }
});

test('versions are quoted although nothing forces it', () => {
  assert.match(
    yamlFlow({ version: '1.0.0', python: '3.14', node: '26' }),
    /version: "1.0.0", python: "3.14", node: "26"/,
  );
});

test('strings that a YAML 1.1 reader takes for something else are quoted', () => {
  for (const word of [
    'yes',
    'No',
    'on',
    'OFF',
    'y',
    'n',
    '12:30',
    '1:20:30',
    '2026-11-15',
    '0o17',
    '017',
    '1_000',
    '~',
    'null',
    '.5',
    '1e3',
    '=',
    '<<',
    '1,000',
    '',
  ])
    assert.match(yamlFlow({ word }), /^\{word: "/, word);
});

test('characters that strict readers refuse are written as escapes', () => {
  assert.equal(
    yamlFlow({ a: 'x\x7f', b: '\u0085\u2028', '\ufeff': 1 }),
    '{a: "x\\u007f", b: "\\u0085\\u2028", "\\ufeff": 1}',
  );
  assert.equal(yamlFlow('\x9f'), '"\\u009f"');
});

test('what is written is read back by YAML 1.1 and 1.2 alike', () => {
  const words = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
    fc.constantFrom(
      'yes',
      'no',
      '- a',
      '# x',
      'a: b',
      '{',
      '[x',
      '&a',
      '*a',
      '!t',
      '%x',
      '@x',
      '`x',
      '|',
      '>',
      '? x',
      "it's",
      '"q"',
      'a\nb',
      ' lead',
      'trail ',
      '---',
      '...',
      'a #b',
      '0x1F',
      '1:2',
      '1_0',
      '.inf',
      '+1',
      '-',
      ':',
      ',',
      'a,b',
      'x]',
      '\t',
      '\u0085',
      '\u2028',
      '\ufeff',
    ),
  );
  const scalar = fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null));
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        words.filter((key) => key !== '__proto__'),
        tie('value'),
        { maxKeys: 4, noNullPrototype: true },
      ),
    ),
  })).value;
  fc.assert(
    fc.property(value, (each) => {
      const text = yamlFlow(each);
      assert.deepEqual(parse(text, { version: '1.2' }), each);
      assert.deepEqual(parse(text, { version: '1.1' }), each);
    }),
    { numRuns: 500 },
  );
});
