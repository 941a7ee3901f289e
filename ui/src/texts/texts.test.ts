import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { english } from './english.ts';
import { german } from './german.ts';

const placeholders = (text: string): string[] => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort();

test('German has every text, none empty, with the same placeholders', () => {
  assert.deepEqual(Object.keys(german).sort(), Object.keys(english).sort());
  for (const [key, text] of Object.entries(english)) {
    const translated = german[key as keyof typeof german];
    assert.ok(text.trim() !== '' && translated.trim() !== '', key);
    assert.deepEqual(placeholders(translated), placeholders(text), key);
  }
});

test('every text is used by the page', () => {
  const sources = globSync('**/*.{ts,tsx}', { cwd: join(import.meta.dirname, '..') }).filter(
    (file) => !file.startsWith('texts'),
  );
  assert.ok(sources.length > 50, 'the sources were found');
  const code = sources.map((file) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')).join('\n');
  const built =
    /^(status|bundle\.(kind|note|tools)|tools\.calls|origin|limit|auth\.field|settings\.(section|about)|health|stats|ask\.outcome|tokens\.scope)\./;
  const unused = Object.keys(english).filter((key) => !code.includes(`'${key}'`) && !built.test(key));
  assert.deepEqual(unused, []);
});
