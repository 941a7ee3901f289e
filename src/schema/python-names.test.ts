import { test } from 'node:test';
import assert from 'node:assert/strict';
import { packName } from './python-names.ts';

test('a pack is its bundle with underscores', () => {
  assert.equal(packName('my-server'), 'my_server');
  assert.equal(packName('brave'), 'brave');
});

test('a pack whose name means something in Python gets a trailing underscore', () => {
  for (const word of ['time', 'import', 'print', 'json', 'parallel']) assert.equal(packName(word), `${word}_`);
  assert.equal(packName('data'), 'data');
  assert.equal(packName('token'), 'token');
});
