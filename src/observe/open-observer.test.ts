import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../schema/index.ts';
import { until } from '../../test/kit/until.ts';
import { openedObservers, record } from './fixtures/opened-observers.ts';
import { LogFile } from './log-file.ts';

const observers = openedObservers();
const { start, stop } = observers;

const lines = async (): Promise<Record<string, unknown>[]> =>
  (await readFile(join(observers.home.logs, 'server.log'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('usage', () => {
  test('counts successes and failures that were dispatched, at once and after a restart', async () => {
    const first = await start();
    await first.record(record({ at: '2026-01-01T00:00:00.000Z' }));
    await first.record(record({ at: '2026-01-02T00:00:00.000Z', outcome: 'tool.failed' }));
    await first.record(record({ outcome: 'args.invalid', isDispatched: false }));
    const { p50Ms, ...counts } = first.usage('tool-1');
    assert.deepEqual(counts, { callCount: 2, failureCount: 1, lastCalledAt: '2026-01-02T00:00:00.000Z' });
    assert.ok(p50Ms !== undefined && Math.abs(p50Ms - 10) < 1.5, String(p50Ms));
    await stop(first);
    const second = await start();
    assert.deepEqual(second.usage('tool-1'), { ...counts, p50Ms });
    assert.deepEqual(second.usage('never'), { callCount: 0, failureCount: 0 });
  });

  test('was last at the latest beginning, whichever call ended last', async () => {
    const observer = await start();
    void observer.record(record({ at: '2026-01-01T00:00:09.000Z' }));
    void observer.record(record({ at: '2026-01-01T00:00:01.000Z', durationMs: 9000 }));
    assert.equal(observer.usage('tool-1').lastCalledAt, '2026-01-01T00:00:09.000Z');
  });

  test('two processes count together and see each other within two seconds', async () => {
    const [one, two] = [await start(), await start()];
    for (let i = 0; i < 30; i++) void (i % 2 ? one : two).record(record());
    await until(() => one.usage('tool-1').callCount === 30 && two.usage('tool-1').callCount === 30, 2000);
  });

  test('of tools that are gone is forgotten after a month', async () => {
    const first = await start();
    const old = { at: new Date(Date.now() - 31 * 24 * 3600_000).toISOString() };
    for (const toolId of ['there', 'gone']) await first.record(record({ ...old, toolId }));
    await first.record(record({ toolId: 'gone-lately' }));
    await stop(first);
    const second = await start();
    await second.forgetGone((toolId) => toolId === 'there');
    const counts = (observer: typeof second): number[] =>
      ['there', 'gone', 'gone-lately'].map((toolId) => observer.usage(toolId).callCount);
    assert.deepEqual(counts(second), [1, 0, 1]);
    await stop(second);
    assert.deepEqual(counts(await start()), [1, 0, 1]);
  });

  test('never goes back while it is written', async () => {
    const observer = await start();
    let last = 0;
    for (let i = 0; i < 40; i++) {
      void observer.record(record());
      await sleep(20);
      const { callCount } = observer.usage('tool-1');
      assert.ok(callCount >= last && callCount === i + 1, `${callCount} after ${i + 1} calls`);
      last = callCount;
    }
  });
});

describe('stats', () => {
  test('adds up by tool, leaves run out, and is exact at once', async () => {
    const observer = await start();
    for (const each of [
      record(),
      record({ outcome: 'tool.failed', durationMs: 30 }),
      record({ name: 'demo_bar', pack: 'demo.bar', toolId: 'tool-2' }),
      record({ name: 'run', pack: 'run.run' }),
    ])
      await observer.record(each);
    const stats = await observer.stats({ period: 'day' });
    assert.equal(stats.total_calls, 3);
    assert.equal(stats.success_rate, 66.67);
    assert.deepEqual(stats.tools, [
      { tool: 'demo.foo', total_calls: 2, success_count: 1, error_count: 1, success_rate: 50, avg_duration_ms: 20 },
      { tool: 'demo.bar', total_calls: 1, success_count: 1, error_count: 0, success_rate: 100, avg_duration_ms: 10 },
    ]);
    assert.equal((await observer.stats({ period: 'all', tool: 'demo.bar' })).total_calls, 1);
    assert.equal((await observer.stats({ period: 'all', tool: 'demo_bar' })).total_calls, 1);
    assert.deepEqual(
      (await observer.groups({ period: 'day' }, 'token')).map((group) => [group.name, group.total_calls]),
      [['tok_1', 3]],
    );
  });

  test('knows day, week, month and all', async () => {
    const observer = await start();
    const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
    for (const days of [0, 3, 20, 90]) await observer.record(record({ at: daysAgo(days) }));
    const counts = [];
    for (const period of ['day', 'week', 'month', 'all'] as const)
      counts.push((await observer.stats({ period })).total_calls);
    assert.deepEqual(counts, [1, 2, 3, 4]);
  });

  test('is limited to what the asker may see', async () => {
    const observer = await start();
    await observer.record(record({ principal: 'me', projectId: 'proj_1' }));
    await observer.record(record({ principal: 'other', projectId: 'proj_2', bundleSlug: 'text', pack: 'text.find' }));
    await observer.record(record({ principal: 'me' }));
    const total = async (reach: object): Promise<number> =>
      (await observer.stats({ period: 'all', reach })).total_calls;
    assert.equal(await total({}), 3);
    assert.equal(await total({ principal: 'me' }), 2);
    assert.equal(await total({ projects: ['proj_2'] }), 1);
    assert.equal(await total({ projects: ['proj_2'], principal: 'me' }), 3);
    assert.equal(await total({ projects: [], principal: 'nobody' }), 0);
    assert.equal(await total({ bundles: ['demo'] }), 2);
  });

  test('what went to a model is counted once, at the outermost call', async () => {
    const observer = await start();
    await observer.record(record({ name: 'run', pack: 'run.run', door: 'mcp', resultBytes: 400 }));
    await observer.record(record({ parent: 'req_1', door: 'mcp', resultBytes: 4000 }));
    const [point] = await observer.series({ period: 'all', bucketMs: 3600_000 });
    assert.deepEqual([point?.calls, point?.tokensSpent, point?.resultBytes], [1, 100, 4000]);
  });

  test('nothing is kept when stats are switched off', async () => {
    const observer = await start({ stats: { enabled: false } });
    await observer.record(record());
    assert.equal((await observer.stats({ period: 'all' })).total_calls, 0);
    assert.equal(observer.usage('tool-1').callCount, 1);
  });

  test('charts have a point per bucket with calls, failures and quantiles', async () => {
    const observer = await start();
    const hour = Math.floor(Date.now() / 3600_000) * 3600_000;
    for (const [hoursAgo, durationMs] of [
      [2, 10],
      [2, 1000],
      [1, 10],
      [1, 10],
      [1, 10],
    ] as const)
      await observer.record(record({ at: new Date(hour - hoursAgo * 3600_000 + 60_000).toISOString(), durationMs }));
    const points = await observer.series({ period: 'day', bucketMs: 3600_000 });
    assert.deepEqual(
      points.map((point) => [point.at, point.calls]),
      [
        [new Date(hour - 7200_000).toISOString(), 2],
        [new Date(hour - 3600_000).toISOString(), 3],
      ],
    );
    assert.ok(Math.abs((points[0]?.p95Ms ?? 0) - 1000) < 120);
    assert.ok(Math.abs((points[1]?.p50Ms ?? 0) - 10) < 1.5);
  });
});

describe('log', () => {
  test('is JSON lines with time, level, span, status, duration and request', async () => {
    const observer = await start();
    await observer.record(record({ requestId: 'req_x', outcome: 'tool.failed' }));
    await observer.span('ot.result', { handle: 'h1' }, async (fields) => void (fields['limit'] = 5));
    await assert.rejects(observer.span('ot.tools', {}, () => Promise.reject(fail('tool.not_found', { ref: 'x' }))));
    observer.log.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'oops');
    await stop(observer);
    const [call, span, failed, error] = await lines();
    assert.match(String(call?.['time']), /^\d{4}-\d\d-\d\dT.*Z$/);
    const { time: _, ...rest } = call ?? {};
    assert.deepEqual(rest, {
      level: 'info',
      span: 'demo.foo',
      status: 'error',
      code: 'tool.failed',
      durationMs: 10,
      requestId: 'req_x',
      tool: 'demo_foo',
      door: 'rest',
      tokenId: 'tok_1',
    });
    assert.deepEqual(
      [span?.['span'], span?.['status'], span?.['handle'], span?.['limit'], typeof span?.['durationMs']],
      ['ot.result', 'ok', 'h1', 5, 'number'],
    );
    assert.deepEqual([failed?.['span'], failed?.['status'], failed?.['code']], ['ot.tools', 'error', 'tool.not_found']);
    assert.match(JSON.stringify(error?.['err']), /inner/);
  });

  test('every line passes the redactor', async () => {
    const observer = await start();
    observer.setRedactor((line) => line.replaceAll('s3cret-value', '[hidden]'));
    observer.log.info({ header: 's3cret-value' }, 'with s3cret-value inside');
    await stop(observer);
    const text = await readFile(join(observers.home.logs, 'server.log'), 'utf8');
    assert.ok(!text.includes('s3cret-value') && text.includes('[hidden]'));
  });

  test('levels below the chosen one are left out', async () => {
    const observer = await start({}, 'warn');
    observer.log.info({}, 'quiet');
    observer.log.warn({}, 'loud');
    await stop(observer);
    assert.deepEqual(
      (await lines()).map((line) => line['msg']),
      ['loud'],
    );
  });

  test('a full file is moved aside and a limited number is kept', async () => {
    const path = join(observers.folder, 'small.log');
    for (let round = 0; round < 8; round++) {
      const file = new LogFile(path, 500);
      for (let i = 0; i < 20; i++) file.write(`${JSON.stringify({ round, i, filler: 'x'.repeat(40) })}\n`);
      await file.close();
    }
    const names = (await readdir(observers.folder)).filter((name) => name.startsWith('small.log')).sort();
    assert.deepEqual(names, ['small.log', 'small.log.1', 'small.log.2', 'small.log.3', 'small.log.4', 'small.log.5']);
  });
});

describe('metrics', () => {
  test('are text for Prometheus with calls by tool and outcome', async () => {
    const observer = await start();
    await observer.record(record());
    await observer.record(record({ outcome: 'tool.timeout', durationMs: 90_000 }));
    await observer.metricsText();
    const text = await observer.metricsText();
    assert.match(text, /oubliette_calls_total\{tool="demo_foo",outcome="ok",door="rest"\} 1/);
    assert.match(text, /oubliette_calls_total\{tool="demo_foo",outcome="tool.timeout",door="rest"\} 1/);
    assert.match(text, /nodejs_eventloop_lag_p99_seconds/);
    assert.match(text, /oubliette_record_failures_total 0/);
    const durations = text
      .split('\n')
      .filter((line) => line.includes('call_duration_seconds') && !line.includes('"error"'));
    assert.deepEqual(durations.slice(1, 6), [
      '# TYPE oubliette_call_duration_seconds histogram',
      'oubliette_call_duration_seconds_bucket{le="0.001",tool="demo_foo",outcome="ok"} 0',
      'oubliette_call_duration_seconds_bucket{le="0.005",tool="demo_foo",outcome="ok"} 0',
      'oubliette_call_duration_seconds_bucket{le="0.02",tool="demo_foo",outcome="ok"} 1',
      'oubliette_call_duration_seconds_bucket{le="0.1",tool="demo_foo",outcome="ok"} 1',
    ]);
    for (const line of ['bucket{le="60",', 'bucket{le="+Inf",', 'sum{', 'count{'])
      assert.ok(text.includes(`oubliette_call_duration_seconds_${line}tool="demo_foo",outcome="error"}`), line);
    assert.match(text, /bucket\{le="60",tool="demo_foo",outcome="error"\} 0\n/);
    assert.match(text, /_sum\{tool="demo_foo",outcome="error"\} 90\n/);
  });
});
