import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parse } from 'yaml';
import { makeBundle, toolBody } from '../kit/catalog.ts';
import { until } from '../kit/until.ts';
import { config, otServer, type OtServer } from './bench-server.ts';

let server: OtServer;
before(async () => {
  server = await otServer('', { logLevel: 'info' });
  for (let i = 0; i < 3; i++) await server.run('demo.foo(text="a")');
  await server.run('demo.bar(text="a")');
  const odd = await makeBundle(server, 'odd');
  await server.ask(
    'PUT',
    odd.tool('fails'),
    toolBody({
      type: 'script',
      functionImpl: undefined,
      argSchema: { type: 'object' },
      access: 'read',
      scriptImpl: { code: 'raise ValueError("always")' },
    }),
  );
  await server.failure('odd.fails()');
});
after(() => server.remove());
const stats = async (args = '', token?: string): Promise<any> => parse(await server.run(`ot.stats(${args})`, token));

test('ot.stats() answers totals, savings and a breakdown per tool', async () => {
  const all = await stats();
  assert.ok(all.total_calls >= 5);
  assert.ok(all.success_rate > 50 && all.success_rate < 100);
  assert.ok(all.context_saved > 0);
  assert.equal(all.time_saved_ms, Math.round(all.context_saved / 10), 'as docs/stats.md says');
  const foo = all.tools.find((each: { tool: string }) => each.tool === 'demo.foo');
  assert.deepEqual(Object.keys(foo), [
    'tool',
    'total_calls',
    'success_count',
    'error_count',
    'success_rate',
    'avg_duration_ms',
  ]);
  assert.equal(foo.total_calls, 3);
  const fails = all.tools.find((each: { tool: string }) => each.tool === 'odd.fails');
  assert.deepEqual([fails.success_count, fails.error_count, fails.success_rate], [0, 1, 0]);
  assert.ok(!all.tools.some((each: { tool: string }) => /(?:^|\.)run$/.test(each.tool)), 'programs are not counted');
});

test('a token that is narrowed to projects sees no calls outside of them', async () => {
  const tools = async (token?: string): Promise<string[]> =>
    (await stats('', token)).tools.map((each: { tool: string }) => each.tool);
  await server.run('demo.bar(text="elsewhere")');
  const { id } = (await server.call('project_create', { name: 'narrow' })).value as { id: string };
  const { token } = (await server.call('token_create', { name: 'narrow', scope: 'admin', projects: [id] })).value as {
    token: string;
  };
  assert.ok((await tools()).includes('demo.bar'));
  assert.ok(!(await tools(token)).includes('demo.bar'));
});

test('context saved grows with what is reachable: it is measured, not a constant', async () => {
  const perRun = async (token: string): Promise<number> => {
    await server.run('1', token);
    const before = (await stats('', token)).context_saved;
    await server.run('2', token);
    return ((await stats('', token)).context_saved - before) / 2;
  };
  const wide = await perRun(await server.tokenFor('write'));
  const narrow = await perRun(await server.tokenFor('write', ['ot', 'demo']));
  assert.ok(wide > narrow && narrow > 0, `${wide} and ${narrow}`);
});

test('ot.stats(period=) takes day, week, month and all', async () => {
  for (const days of [3, 15, 50]) addCallOfBefore(days, 'demo.old');
  for (const [period, calls] of [
    ['day', 0],
    ['week', 1],
    ['month', 2],
    ['all', 3],
  ] as const)
    assert.equal((await stats(`period="${period}", tool="demo.old"`)).total_calls, calls, period);
  assert.equal((await stats('tool="demo.old"')).total_calls, 3, 'all is the default');
});

test('ot.stats(tool=) is about that tool alone, totals included', async () => {
  const foo = await stats('tool="demo.foo"');
  assert.equal(foo.total_calls, 3);
  assert.deepEqual(
    foo.tools.map((each: { tool: string }) => each.tool),
    ['demo.foo'],
  );
});

test('calls are counted under the name that ot.tools() lists, also where slugs have dashes or are Python words', async () => {
  const bundle = await makeBundle(server, 'two-words');
  for (const slug of ['get-it', 'import']) await server.ask('PUT', bundle.tool(slug), toolBody());
  for (const name of ['two_words.get_it', 'two_words.import_']) {
    await server.run(`${name}(text="a")`);
    assert.deepEqual(parse(await server.run(`ot.tools(pattern="${name}", info="list")`)), [name]);
    const answer = await stats(`tool="${name}"`);
    assert.deepEqual([answer.total_calls, answer.tools[0].tool], [1, name]);
  }
});

test('ot.stats(output=) writes a report and answers its path', async () => {
  const answer = await stats('output="stats.html"');
  assert.equal(answer.html_report, join(server.home, 'reports', 'stats.html'));
  const html = await readFile(answer.html_report, 'utf8');
  assert.match(html, /<svg role="img" aria-label="Calls over time"[\s\S]*<rect class="ok"/);
  assert.match(html, /<svg role="img" aria-label="Calls per tool"/);
  assert.ok(html.includes('demo.foo') && html.includes('@media print'));
  assert.ok(!/(?:src|href)=/.test(html), 'it needs nothing but itself');
  assert.equal((await stats('output="stats.html"')).html_report, answer.html_report, 'a report may be replaced');
});

test('what is written into a report is escaped', async () => {
  const html = await readFile((await stats('tool="<script>alert(1)</script>", output="odd.html"')).html_report, 'utf8');
  assert.ok(!html.includes('<script>') && html.includes('&#60;script&#62;'));
});

test('a report that cannot be written is answered as an error', async () => {
  await mkdir(join(server.home, 'reports', 'folder.html'), { recursive: true });
  await writeFile(join(server.home, 'reports', 'mine.html'), '<p>mine</p>');
  await symlink(server.home, join(server.home, 'reports', 'out'));
  for (const path of [
    'folder.html',
    'mine.html',
    '../escape.html',
    'report.txt',
    'no/such/folder.html',
    'out/x.html',
    '/tmp/oub-not-here.html',
  ])
    assert.match(
      await server.run(`ot.stats(output="${path}")`),
      new RegExp(`^Error: Cannot write to '${path.replaceAll('.', '\\.')}': .+`),
      path,
    );
  assert.equal(await readFile(join(server.home, 'reports', 'mine.html'), 'utf8'), '<p>mine</p>');
});

test('writing a report needs write level, reading does not', async () => {
  const token = await server.tokenFor('read');
  assert.match(
    await server.run('ot.stats(output="r.html")', token),
    /^Error: Cannot write to 'r\.html': this needs write level$/,
  );
  assert.equal((await stats('', token)).total_calls >= 0, true);
});

test('an invalid period is answered as an error with an example', async () => {
  assert.equal(
    await server.run('ot.stats(period="invalid")'),
    "Error: Invalid period 'invalid'. Valid: day, week, month, all. Example: ot.stats(period='day')",
  );
});

test('switched off, ot.stats() says so', async () => {
  await writeFile(join(server.home, 'config.yaml'), 'stats: { enabled: false }\n');
  await server.run('ot.reload()');
  assert.match(await server.run('ot.stats()'), /^Error: Statistics are disabled/);
  await writeFile(join(server.home, 'config.yaml'), '');
  await server.run('ot.reload()');
});

test('every function of ot logs a span of its name', async () => {
  await writeFile(join(server.home, 'config.yaml'), config);
  await server.run('ot.reload()');
  for (const code of [
    'ot.tools()',
    'ot.packs()',
    'ot.aliases()',
    'ot.snippets()',
    'ot.config()',
    'ot.health()',
    'ot.help()',
    'ot.stats()',
    'ot.version()',
    'ot.notify(topic="notes", message="m")',
  ])
    await server.run(code);
  // Lines that come together are written together, a moment later.
  await until(async () => (await logged()).some((each) => each['span'] === 'ot.notify'));
  const spans = await logged();
  for (const name of [
    'tools',
    'packs',
    'aliases',
    'snippets',
    'config',
    'health',
    'help',
    'stats',
    'version',
    'notify',
    'reload',
  ]) {
    const line = spans.find((each) => each['span'] === `ot.${name}`);
    assert.equal(line?.['level'], 'info', name);
    assert.equal(line['status'], 'ok');
  }
});

test('the span of ot.result tells handle, offset, limit and search', async () => {
  await server.run('ot.result(handle="abc", offset=3, limit=7, search="x")');
  await server.run('ot.result(handle="plain")');
  await until(async () => (await logged()).some((each) => each['handle'] === 'plain'));
  const spans = (await logged()).filter((each) => each['span'] === 'ot.result');
  const { handle, offset, limit, search } = spans.at(-2)!;
  assert.deepEqual({ handle, offset, limit, search }, { handle: 'abc', offset: 3, limit: 7, search: 'x' });
  assert.ok(!('search' in spans.at(-1)!) && spans.at(-1)!['handle'] === 'plain');
});

/** A call that lies that many days back, as the server writes them down. */
function addCallOfBefore(days: number, tool: string): void {
  const db = new DatabaseSync(join(server.home, 'state.db'));
  db.exec('PRAGMA busy_timeout = 10000');
  db.prepare(
    `INSERT INTO stat_slots (slot, name, pack, bundle, principal, token_id, project_id, calls, failures, duration_ms, result_bytes, spent_bytes, durations)
     VALUES (?, ?, ?, 'demo', 'test', '', '', 1, 0, 1, 1, 1, '')`,
  ).run(Date.now() - days * 24 * 3600_000, tool.replace('.', '_'), tool);
  db.close();
}

async function logged(): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(server.home, 'logs', 'server.log'), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
