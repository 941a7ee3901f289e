import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepsOf } from './settings.ts';

test('a path is cut at its dots, numbers are places in a list, quotes keep dots', () => {
  assert.deepEqual(stepsOf('limits.depth'), ['limits', 'depth']);
  assert.deepEqual(stepsOf('servers.docs.args.0'), ['servers', 'docs', 'args', 0]);
  assert.deepEqual(stepsOf('servers."a.b".url'), ['servers', 'a.b', 'url']);
  assert.throws(() => stepsOf(''), /is no path/);
});
