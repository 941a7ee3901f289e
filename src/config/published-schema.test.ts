import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { configJsonSchema } from './index.ts';

test('docs/config.schema.json is the schema that the program checks (UPDATE_DOCS=1 writes it)', async () => {
  const file = new URL('../../docs/config.schema.json', import.meta.url);
  const text = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
  if (process.env['UPDATE_DOCS'] === '1') await writeFile(file, text);
  assert.equal(await readFile(file, 'utf8'), text);
});
