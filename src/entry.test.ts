import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { entryPoint, packageRoot } from './entry.ts';

test('runs on the Node that the project brings', () => {
  assert.equal(process.versions.node.split('.')[0], '26');
});

test('an entry point is the TypeScript file itself in the clone', () => {
  assert.equal(entryPoint('entry'), join(packageRoot, 'src', 'entry.ts'));
  assert.ok(existsSync(entryPoint('entry')));
});
