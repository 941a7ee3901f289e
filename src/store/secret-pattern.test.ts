import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../test/kit/fast-check.ts';
import { SecretPattern, shortestForm } from './secret-pattern.ts';

/** Few letters, so that forms begin alike, hold each other and overlap. */
const word = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b', '\ud83d', '\ude00', '.'), minLength, maxLength });
const forms = fc.uniqueArray(word(shortestForm, 10), { minLength: 1, maxLength: 12 });
const text = fc.tuple(forms, fc.array(fc.oneof(word(0, 12), fc.nat(11)), { maxLength: 12 })).map(([known, parts]) => ({
  known,
  text: parts.map((part) => (typeof part === 'number' ? known[part % known.length]! : part)).join(''),
}));

test('finds what one expression of all forms would find, the longest at each place', () => {
  fc.assert(
    fc.property(text, ({ known, text: said }) => {
      const longestFirst = known.toSorted((a, b) => b.length - a.length).map((form) => RegExp.escape(form));
      const expression = new RegExp(longestFirst.join('|'), 'g');
      const pattern = new SecretPattern(known);
      assert.equal(
        pattern.replace(said, (form) => `<${form}>`),
        said.replace(expression, '<$&>'),
      );
      assert.deepEqual(
        pattern.all(said),
        Array.from(said.matchAll(expression), (match) => ({ index: match.index, form: match[0] })),
      );
    }),
  );
});

test('knows how much of an end could be the start of a form', () => {
  fc.assert(
    fc.property(text, ({ known, text: said }) => {
      const lengths = Array.from({ length: said.length }, (_, at) => said.length - at);
      const open = lengths.find((length) =>
        known.some((form) => form.length > length && form.startsWith(said.slice(-length))),
      );
      assert.equal(new SecretPattern(known).openEnd(said), open ?? 0);
    }),
  );
});
