import assert from 'node:assert/strict';
import { readFileSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../kit/running-server.ts';

test('every line that the server logs names its span, so that logs can be read by it', () => {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const calls = files.flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /\b(?:log|logger)\.(?:info|warn|error|debug)\(\s*([^,]{0,40})/g,
      ),
    ].map((match) => ({ file, fields: match[1]! })),
  );
  assert.ok(calls.length >= 30, `found ${calls.length}`);
  const without = calls.filter(({ fields }) => !/^\{ span\b/.test(fields));
  assert.deepEqual(without, []);
});
