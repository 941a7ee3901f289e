import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { tokenCounter } from './token-counter.ts';

const count = tokenCounter(join(import.meta.dirname, 'token-worker.ts'));

test('counts the tokens of texts as models do', async () => {
  assert.equal(await count(['hello world', 'Search the web for pages.', '']), 8);
});

test('words without an end and texts of megabytes are counted too, about right', async () => {
  const near = (tokens: number, wanted: number): void => assert.ok(Math.abs(tokens / wanted - 1) < 0.02, `${tokens}`);
  near(await count(['hello '.repeat(100_000)]), 100_000);
  for (const character of ['x', '=', ' '])
    near(await count([character.repeat(1_000_000)]), 5_000 * (await count([character.repeat(200)])));
});
