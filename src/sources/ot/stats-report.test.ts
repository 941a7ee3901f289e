import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportHtml, type Report } from './stats-report.ts';

const madeAt = new Date('2026-11-16T01:46:07.352Z');
const empty: Report = {
  period: 'week',
  total_calls: 0,
  success_rate: 0,
  context_saved: 0,
  time_saved_ms: 0,
  tools: [],
  series: [],
  version: '1.2.3',
  madeAt,
};
const row = (tool: string, calls: number, failed: number): Report['tools'][number] => ({
  tool,
  total_calls: calls,
  success_count: calls - failed,
  error_count: failed,
  success_rate: Math.round(((calls - failed) / calls) * 10_000) / 100,
  avg_duration_ms: 1234,
});
const figures = (html: string): string[] => [...html.matchAll(/<dd>([^<]*)<\/dd>/g)].map(([, text]) => text!);

test('a report of nothing says so once, without a table and without a rate', () => {
  const html = reportHtml(empty);
  assert.deepEqual(figures(html), ['0', '–', '0 tokens', '0 ms']);
  assert.equal(html.split('No calls in this period.').length, 2);
  assert.doesNotMatch(html, /<table|<svg|All tools/);
  assert.match(html, /Made 2026-11-16 01:46 UTC by Oubliette 1\.2\.3/);
});

test('a report of one call has an axis of whole calls and one label below', () => {
  const html = reportHtml({
    ...empty,
    total_calls: 1,
    success_rate: 100,
    context_saved: 1234,
    time_saved_ms: 123,
    tools: [row('demo.foo', 1, 0)],
    series: [{ at: '2026-11-16T01:00:00.000Z', calls: 1, failures: 0, p50Ms: 2 }],
  });
  assert.deepEqual(figures(html), ['1', '100 %', '1,234 tokens', '123 ms']);
  assert.deepEqual(
    [...html.matchAll(/text-anchor="end">(\d)</g)].map(([, label]) => label),
    ['0', '1'],
  );
  assert.equal(html.split('>2026-11-16 01:00<').length, 2);
});

test('large figures stay readable, and a seldom called tool has a bar that can be seen', () => {
  const html = reportHtml({
    ...empty,
    total_calls: 123_456_789,
    success_rate: 99.97,
    context_saved: 98_765_432_109_876,
    time_saved_ms: 9_876_543_210,
    tools: [row('a.much', 123_456_789, 1), row('b.little', 1, 0)],
  });
  assert.deepEqual(figures(html), ['123.5M', '99.97 %', '98.8T tokens', '114 days']);
  assert.match(html, /<td>123,456,789<\/td><td>123,456,788<\/td><td>1<\/td>[^]*<td>1,234<\/td>/);
  assert.match(html, /b\.little: 1 calls[^]*?<rect class="ok"[^>]* width="1\.0"/);
});
