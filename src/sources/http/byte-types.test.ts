import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isByteType, isUnreadableType } from './byte-types.ts';

test('pictures, sounds, fonts and archives are bytes, whatever follows their type; texts are not', () => {
  for (const type of [
    'image/png',
    'font/woff2',
    ' Application/ZIP',
    'application/gzip; q=1',
    'application/pdf, text/plain',
  ])
    assert.ok(isByteType(type) && isUnreadableType(type), type);
  for (const type of ['', 'text/plain', 'application/json', 'application/zip+json', 'application/x-image/png'])
    assert.ok(!isByteType(type) && !isUnreadableType(type), type);
});

test('an SVG image is sent as a file, and read as text', () => {
  for (const type of ['image/svg+xml', 'image/SVG+XML; charset=utf-8']) {
    assert.ok(isByteType(type));
    assert.ok(!isUnreadableType(type));
  }
});
