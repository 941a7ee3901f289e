import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { KeyedHash } from './keyed-hash.ts';

const texts = [
  '',
  'a',
  'row\n["é",1]',
  '🦊'.repeat(40),
  '\ud800 alone',
  'x'.repeat(5000),
  '語'.repeat(3000),
  'short again',
];

test('is HMAC-SHA-256 for texts of any length and any characters, one after the other', () => {
  for (const key of [randomBytes(32), randomBytes(64), Buffer.from('k')]) {
    const keyed = new KeyedHash(key);
    for (const text of texts)
      assert.equal(keyed.of(text), createHmac('sha256', key).update(text).digest('hex'), text.slice(0, 20));
  }
});

test('takes no key longer than a block, which HMAC would treat in another way', () => {
  assert.throws(() => new KeyedHash(randomBytes(65)), RangeError);
});
