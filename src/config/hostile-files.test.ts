import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { Failure } from '../schema/index.ts';
import { checkConfig, checkPrompts } from './check.ts';
import { edited } from './edit.ts';
import { toSettings } from './settings.ts';
import { parseYaml, Problems } from './yaml-file.ts';

const keys =
  'version include allowedHosts aliases servers fs output snippets agents command url env __proto__ << null 1 ~'.split(
    ' ',
  );
const odd = [
  '1e999', '.nan', '2020-01-01', 'true', '~', '""', '"\\u0000"', '"\\ud800"', '!!binary aGk=', '!!set {a}', '!foo bar', '*a', '&a x',
  '|\n  x', '[]', '{}', '[a, b]', '{a: b}', '? x', '@x', '%x', '"open', '\t', '---',
]; // prettier-ignore
const scalar = fc.oneof(
  fc.constantFrom(...odd),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const indent = fc.nat(4).map((level) => ' '.repeat(2 * level));
const lines = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(indent, fc.constantFrom(...keys), scalar)
      .map(([space, key, value]) => `${space}${key}: ${value}`),
  },
  fc.tuple(indent, scalar).map(([space, value]) => `${space}- ${value}`),
  scalar,
);
const yaml = fc.array(lines, { maxLength: 12 }).map((all) => all.join('\n'));

/** What a text leads to: a value, or problems each with a line and a reason. Anything else is a fault. */
function outcome<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    assert.ok(error instanceof Problems, String(error));
    for (const { line, reason } of error.list) assert.ok(line >= 1 && reason !== '', reason);
    return undefined;
  }
}

test('any text is a configuration, or is refused with lines and reasons', () => {
  fc.assert(
    fc.property(yaml, (text) => {
      outcome(() => toSettings(checkConfig(parseYaml('config.yaml', text)), {}, '/home'));
      outcome(() => checkPrompts(parseYaml('prompts.yaml', text)));
    }),
    { numRuns: 1500 },
  );
});

test('a setting that is put into any file is there, or is refused by name, and nothing else changes', () => {
  fc.assert(
    fc.property(yaml, (text) => {
      const before = outcome(() => parseYaml('config.yaml', text));
      if (!before) return;
      let after: string;
      try {
        after = edited('config.yaml', text, ['aliases', 'hue'], 'demo.foo');
      } catch (error) {
        assert.ok(error instanceof Failure && error.code === 'request.invalid', String(error));
        return;
      }
      const { aliases, ...others } = parseYaml('config.yaml', after).value;
      assert.equal((aliases as Record<string, unknown>)['hue'], 'demo.foo');
      const { aliases: _, ...kept } = before.value;
      assert.deepEqual(others, kept);
    }),
    { numRuns: 1500 },
  );
});
