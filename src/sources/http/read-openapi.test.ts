import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { importOpenApi, parseDocument } from './openapi/index.ts';
import { openApiReader } from './read-openapi.ts';

const readOpenApi = openApiReader(join(import.meta.dirname, 'openapi-worker.ts'));
const never = new AbortController().signal;
const yaml = (operations: number): string =>
  `openapi: 3.0.0\ninfo: { title: Long }\nservers: [{ url: https://api.example.org }]\npaths:\n` +
  Array.from(
    { length: operations },
    (_, n) => `  /a${n}: { get: { operationId: op${n}, summary: number ${n} } }\n`,
  ).join('');

test('a large document is read elsewhere, with the same outcome, and leaves turns to others', async () => {
  const text = yaml(350);
  const made = importOpenApi(parseDocument(text), { bundle: 'long' });
  const expected = { bundle: made.bundle, tools: [...made.tools], report: made.report };
  let [turns, isOver] = [0, false];
  const others = async (): Promise<void> => {
    for (; !isOver; turns++) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const counting = others();
  const read = await readOpenApi(text, { bundle: 'long' }, never);
  isOver = true;
  await counting;
  assert.deepEqual(read, expected);
  assert.equal(read.tools.length, 350);
  assert.ok(turns >= 5, `${turns} turns`);
});

test('a small one is read at once, and what is none is refused with the same words, wherever it is read', async () => {
  const { tools } = await readOpenApi(yaml(3), {}, never);
  assert.deepEqual(
    tools.map((tool) => tool.slug),
    ['op0', 'op1', 'op2'],
  );
  const refusal = { code: 'import.invalid', message: /^This file cannot be imported: it has no "openapi"/ };
  await assert.rejects(readOpenApi('a: b', {}, never), refusal);
  await assert.rejects(readOpenApi(`a: ${'b'.repeat(20_000)}`, {}, never), refusal);
});

test('who does not wait any longer is let go', async () => {
  const leaving = new AbortController();
  const read = readOpenApi(yaml(20_000), {}, leaving.signal);
  setImmediate(() => leaving.abort(new Error('gone')));
  await assert.rejects(read, { message: 'gone' });
  await assert.rejects(readOpenApi(yaml(1_000), {}, leaving.signal), { message: 'gone' });
});
