import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileBody } from './body-template.ts';
import { refuseDotSegments } from './encodings.ts';
import { TemplateProblem } from './template.ts';

const filled = (body: unknown, contentType: string, args: Record<string, unknown>): string =>
  compileBody(body, contentType, new Set(Object.keys(args))).fill({ args, secret: () => '' })?.body ?? '';

test('fields of a form that are null are left out, lists are repeated', () => {
  const args = { body: { a: null, b: [1, 'x y'], c: false } };
  assert.equal(filled('${body}', 'application/x-www-form-urlencoded', args), 'b=1&b=x%20y&c=false');
  assert.doesNotMatch(filled('${body}', 'multipart/form-data', args), /name="a"/);
});

test('no name of a field ends its line or its quotes', () => {
  const text = filled('${body}', 'multipart/form-data', { body: { 'a"; x="\r\ny': 'v' } });
  assert.match(text, /name="a%22; x=%22%0D%0Ay"\r\n\r\nv\r\n/);
});

test('a part of a path that climbs is refused however it is written', () => {
  for (const path of ['/a/..', '/./b', '/%2E%2e/b', '/a/.%2E/b'])
    assert.throws(() => refuseDotSegments(path), TemplateProblem, path);
  assert.doesNotThrow(() => refuseDotSegments('/a.b/.../..c/%2Ex'));
});
