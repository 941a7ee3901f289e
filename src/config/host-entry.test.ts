import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHostEntry } from './host-entry.ts';

test('takes every form of a host', () => {
  for (const entry of [
    'api.example.com',
    'EXAMPLE.org',
    'example.org.',
    'example.org:8443',
    '*.example.org',
    '*.example.org:8443',
    'bücher.example',
    'localhost',
    'localhost:80',
    '127.0.0.1',
    '127.0.0.1:8080',
    '::1',
    '[::1]',
    '[::1]:8080',
    'fe80::1',
    '10.0.0.0/8',
    'fd00::/8',
    'under_score.example',
    '*',
  ])
    // prettier-ignore
    assert.equal(isHostEntry(entry), true, entry);
});

test('refuses what could never fit, so that nobody waits for it to work', () => {
  for (const entry of [
    '',
    ' ',
    'http://x',
    'a b',
    'user@host',
    'host/path',
    'example.org:',
    'example.org:99999',
    'example.org:x',
    '10.0.0.0/99',
    '10.0.0.0/8/8',
    'x/8',
    'fd00::/129',
    'a.*.org',
    '*.*.org',
    '*.',
    'host?x',
    'host#x',
    '[::1',
  ])
    // prettier-ignore
    assert.equal(isHostEntry(entry), false, entry);
});
