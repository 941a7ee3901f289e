import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { markdownMaker } from './markdown.ts';

const page = (paragraphs: number): string => '<p>some <b>words</b></p>'.repeat(paragraphs);
const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;

test('a conversion that nobody waits for any longer leaves nothing behind, and the next one works', async () => {
  const maker = markdownMaker(join(import.meta.dirname, 'markdown-worker.ts'));
  const before = timers();
  const leaving = new AbortController();
  const left = maker.convert(page(3_000), leaving.signal);
  setImmediate(() => leaving.abort(new Error('gone')));
  await assert.rejects(left, { message: 'gone' });
  assert.equal(timers(), before);
  const { signal } = new AbortController();
  assert.match(await maker.convert(page(1_000), signal), /^some \*\*words\*\*\n\nsome/);
  assert.equal(timers(), before);
  await maker.close();
});
