import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { newUuid } from '../../src/schema/index.ts';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

let home: string;
let server: TestServer;
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-records-'));
  server = await startTestServer({ home });
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

async function call(name: string, args: object = {}, at = server): Promise<any> {
  const answer = (await (await at.fetch(`/call/${name}`, { method: 'POST', json: { args } })).json()) as {
    ok: boolean;
    value: unknown;
  };
  assert.equal(answer.ok, true, JSON.stringify(answer));
  return answer.value;
}

async function usage(at = server): Promise<{ callCount: number; lastCalledAt?: string }> {
  const { tools } = (await (await at.fetch('/tools/tools/search?q=foo')).json()) as {
    tools: { name: string; usage: { callCount: number } }[];
  };
  return tools.find((tool) => tool.name === 'demo_foo')?.usage ?? { callCount: -1 };
}

const logLines = async (): Promise<Record<string, unknown>[]> =>
  (await readFile(join(home, 'logs', 'server.log'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('usage', () => {
  test('is seen at once here, within two seconds elsewhere, and is exact after a restart', async () => {
    const { callCount: before } = await usage();
    const other = await startTestServer({ home });
    try {
      for (let i = 0; i < 5; i++) await call('demo_foo', { text: 'x' });
      await call('demo_foo', { text: 'x' }, other);
      await server.fetch('/call/demo_foo', { method: 'POST', json: { args: { wrong: 1 } } });
      assert.ok((await usage()).callCount >= before + 5);
      for (const at of [server, other]) await until(async () => (await usage(at)).callCount === before + 6, 2000);
    } finally {
      await other.stop();
    }
    await call('demo_foo', { text: 'last' });
    await server.stop();
    server = await startTestServer({ home });
    const { callCount, lastCalledAt } = await usage();
    assert.equal(callCount, before + 7);
    assert.match(lastCalledAt ?? '', /^\d{4}-.*Z$/);
  });
});

describe('statistics and audit', () => {
  test('refuse a time that no calendar has', async () => {
    const response = await fetch(`${server.url}/call/stats_calls`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ args: { since: '2026-06-30T23:59:60Z' } }),
    });
    assert.equal(response.status, 400);
    const { error } = (await response.json()) as { error: { details: unknown } };
    assert.deepEqual(error.details, [{ path: '/args/since', message: 'is no time on the calendar' }]);
  });

  test('tell what was called, and hold when they are checked', async () => {
    await call('demo_bar', { text: 'x' });
    const overview = await call('stats_overview', { period: 'day' });
    assert.ok(overview.total_calls >= 8);
    assert.ok(overview.groups.some((group: { name: string }) => group.name === 'demo.bar'));
    const { calls } = await call('stats_calls', { tool: 'demo_bar' });
    assert.equal(calls[0].outcome, 'ok');
    const { rows } = await call('audit_list', { limit: 50 });
    assert.ok(
      rows.every((row: { token_id: string | null }) => row.token_id === null || row.token_id.startsWith('tok_')),
    );
    assert.ok(!JSON.stringify(rows).includes(server.token));
    assert.equal((await call('audit_verify')).ok, true);
  });

  test('hold every change to the catalog, also refused ones, with who made it', async () => {
    const { token, id } = await call('token_create', { name: 'r', scope: 'read' });
    const path = `/tools/bundles/${newUuid()}`;
    const body = { slug: 'audited', displayName: 'Audited', isEnabled: true };
    assert.equal((await server.fetch(path, { method: 'PUT', json: body, token })).status, 403);
    assert.equal((await server.fetch(path, { method: 'PUT', json: body })).status, 201);
    assert.equal((await server.fetch(path, { method: 'PATCH', json: { isEnabled: false } })).status, 200);
    assert.equal((await server.fetch(path, { method: 'DELETE' })).status, 204);
    const { rows } = await call('audit_list', { limit: 10 });
    const changes = rows.filter((row: { bundle: string }) => row.bundle === 'catalog').reverse();
    assert.deepEqual(
      changes.map((row: Record<string, string>) => [row['tool'], row['level'], row['outcome']]),
      [
        ['bundle_put', 'admin', 'scope.denied'],
        ['bundle_put', 'admin', 'ok'],
        ['bundle_patch', 'admin', 'ok'],
        ['bundle_delete', 'admin', 'ok'],
      ],
    );
    assert.equal(changes[0].token_id, id);
    assert.equal((await call('audit_verify')).ok, true);
  });

  test('hold whatever a caller writes for an id', async () => {
    const { token } = await call('token_create', { name: 'odd', scope: 'read' });
    for (const id of ['\ud800', '\0x', 'x'.repeat(100_000), 'proj_x'])
      await server.fetch('/call/project_get', { method: 'POST', json: { args: { project_id: id } }, token });
    assert.equal((await call('audit_verify')).ok, true);
    const { rows } = await call('audit_list', { limit: 10 });
    const seen = rows.filter((row: { tool: string }) => row.tool === 'project_get');
    assert.deepEqual(
      seen.map((row: { project_id: string | null }) => row.project_id),
      ['proj_x', null, null, null],
    );
  });

  test('are for the admin alone', async () => {
    const { token } = await call('token_create', { name: 'w', scope: 'write' });
    for (const name of ['stats_overview', 'audit_list', 'audit_verify'])
      assert.equal((await server.fetch(`/call/${name}`, { method: 'POST', json: { args: {} }, token })).status, 403);
  });

  test('metrics are text with the calls in it', async () => {
    const counted = async (): Promise<number> => {
      const text = await (await server.fetch('/metrics')).text();
      return Number(/^oubliette_calls_total\{tool="demo_bar",outcome="ok",door="rest"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    const before = await counted();
    await call('demo_bar', { text: 'measured' });
    await until(async () => (await counted()) === before + 1);
  });
});

describe('the log', () => {
  test('has one JSON line per call, with request id and without the token', async () => {
    const answer = await server.fetch('/call/demo_bar', { method: 'POST', json: { args: { text: 'logged' } } });
    assert.equal(answer.status, 200);
    await until(async () => (await logLines()).some((line) => line['span'] === 'demo.bar'), 2000);
    const text = await readFile(join(home, 'logs', 'server.log'), 'utf8');
    assert.ok(!text.includes(server.token));
    const line = (await logLines()).findLast((each) => each['span'] === 'demo.bar');
    for (const field of ['time', 'level', 'status', 'durationMs', 'requestId'])
      assert.ok(line?.[field] !== undefined, field);
  });
});

describe('the configuration', () => {
  test('a broken file keeps the old settings serving, is named in the log, and heals', async () => {
    const root = join(home, 'files');
    const file = join(home, 'config.yaml');
    await writeFile(file, `fs: { root: ${home}/notes }\naliases: { hue: demo.foo }\n`);
    const readable = (): Promise<boolean> =>
      call('fs_statpath', { path: '.' }).then(
        (found) => found.exists,
        () => false,
      );
    await until(readable, 2000);
    await writeFile(file, 'aliases: { hue: [\n');
    await until(
      async () =>
        (await logLines()).some(
          (line) => line['span'] === 'config.reload' && JSON.stringify(line).includes('config.yaml:'),
        ),
      2500,
    );
    assert.equal(await readable(), true);
    await writeFile(file, `fs: { root: ${root} }\n`);
    await until(async () => !(await readable()), 2000);
  });
});

describe('built-in tools', () => {
  test('every example of every offline bundle runs as it stands', async () => {
    await writeFile(join(home, 'config.yaml'), `fs: { root: ${home}/notes }\n`);
    await writeFile(join(home, 'notes', 'notes.txt'), 'hello\n');
    await until(
      () =>
        call('fs_statpath', { path: 'notes.txt' }).then(
          (found) => found.exists,
          () => false,
        ),
      2000,
    );
    const ids: string[] = [];
    let examples = 0;
    const { tools } = (await (await server.fetch('/tools/tools?recommendedPageSize=256')).json()) as {
      tools: { bundleSlug: string; example?: string; name: string }[];
    };
    for (const tool of tools.filter((each) =>
      ['text', 'data', 'clock', 'calc', 'demo', 'fs'].includes(each.bundleSlug),
    )) {
      assert.ok(tool.example, tool.name);
      const answer = (await (
        await server.fetch('/call/run', { method: 'POST', json: { args: { code: tool.example } } })
      ).json()) as { ok: boolean };
      assert.equal(answer.ok, true, `${tool.example}: ${JSON.stringify(answer)}`);
      examples++;
      ids.push(tool.name);
    }
    assert.ok(examples >= 19, ids.join(' '));
  });
});
