import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import { LiveText } from './live-text.ts';

function shown(pieces: string[], message: string): string {
  let out = '';
  const live = new LiveText((text) => (out += text));
  for (const piece of pieces) live.piece(piece);
  live.finish(message);
  return out;
}

test('pieces that add up are shown once', () => {
  assert.equal(shown(['Hel', 'lo'], 'Hello'), 'Hello\n');
  assert.equal(shown(['Hel'], 'Hello'), 'Hello\n');
  assert.equal(shown([], 'Hello'), 'Hello\n');
});

test('whatever pieces are lost, the whole message is on the screen', () => {
  const words = fc.array(fc.string({ maxLength: 5 }), { maxLength: 6 });
  fc.assert(
    fc.property(words, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (pieces, kept) => {
      const message = pieces.join('');
      const out = shown(
        pieces.filter((_, at) => kept[at]),
        message,
      );
      assert.ok(out.endsWith(`${message}\n`));
    }),
  );
});
