import assert from 'node:assert/strict';
import { test } from 'node:test';
import { visible } from './visible.ts';

test('shows what would turn or hide the text around it, and leaves all writing alone', () => {
  assert.equal(visible('rm \u202Egpj.exe\u202c'), 'rm ‹U+202E›gpj.exe‹U+202C›');
  assert.equal(visible('\u001b[2Ja\u200bb\u{e0041}'), '‹U+001B›[2Ja‹U+200B›b‹U+E0041›');
  const writing = 'مرحبا שלום नमस्ते 漢字 👩‍💻 {"a":\n\t1} é';
  assert.equal(visible(writing), writing);
});
