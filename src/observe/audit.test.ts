import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { until } from '../../test/kit/until.ts';
import { openedObservers, record } from './fixtures/opened-observers.ts';

const observers = openedObservers();
const { start, stop } = observers;

describe('audit', () => {
  test('a write is on disk before it is answered, without token or arguments', async () => {
    const observer = await start();
    const argsDigest = hash('sha256', '{"name":"secret plan"}');
    await observer.record(record({ level: 'write', name: 'project_create', argsDigest: () => argsDigest }));
    const other = new DatabaseSync(observers.home.stateDb, { readOnly: true });
    const rows = other.prepare('SELECT * FROM audit').all();
    other.close();
    assert.equal(rows.length, 1);
    assert.equal(rows[0]?.['token_id'], 'tok_1');
    assert.ok(!JSON.stringify(rows).includes('secret plan'));
    // Short arguments could be guessed from a plain hash.
    assert.ok(!JSON.stringify(rows).includes(argsDigest));
    assert.equal(String(rows[0]?.['args_hmac']).length, 64);
  });

  test('the chain is whole after many calls from two processes at once', async () => {
    const [one, two] = [await start(), await start()];
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => (i % 2 ? one : two).record(record({ level: i % 3 ? 'write' : 'read' }))),
    );
    await stop(two);
    assert.deepEqual(await one.verifyAudit(), { ok: true, rows: 200 });
  });

  for (const [name, sql, brokenAt] of [
    ['changed', "UPDATE audit SET outcome = 'ok' WHERE seq = 3", 3],
    ['removed', 'DELETE FROM audit WHERE seq = 3', 3],
    ['cut off at the end', 'DELETE FROM audit WHERE seq > 4', 5],
    [
      'removed together with its place',
      'DELETE FROM audit WHERE seq = 3; UPDATE audit SET seq = seq - 1 WHERE seq > 3',
      3,
    ],
    [
      'cut off together with what says how many there are',
      'DELETE FROM audit WHERE seq > 4; UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM audit WHERE seq = 4)',
      5,
    ],
    ['cut off, and nothing says how many there are', 'DELETE FROM audit WHERE seq > 4; DELETE FROM audit_head', 5],
    ['removed with all others', 'DELETE FROM audit; DELETE FROM audit_head', 1],
    ['slipped in before the first', 'UPDATE audit SET seq = -2 WHERE seq = 6', -2],
  ] as const)
    test(`a row that was ${name} is found`, async () => {
      const observer = await start();
      for (let i = 0; i < 6; i++) await observer.record(record({ level: 'admin', outcome: 'tool.failed' }));
      const other = new DatabaseSync(observers.home.stateDb);
      other.exec(sql);
      other.close();
      const { ok, brokenAt: found } = await observer.verifyAudit();
      assert.equal(ok, false);
      assert.equal(found, brokenAt);
      await observer.record(record({ level: 'admin' }));
      assert.equal((await observer.verifyAudit()).ok, false, 'also after the next one');
    });

  test('a chain whose end an older version left without a seal is whole, and gets one', async () => {
    const older = await start();
    for (let i = 0; i < 6; i++) await older.record(record({ level: 'write' }));
    await stop(older);
    const other = new DatabaseSync(observers.home.stateDb);
    other.exec("ALTER TABLE audit_head DROP COLUMN seal; UPDATE schema_steps SET step = 1 WHERE component = 'audit'");
    const observer = await start();
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 6 });
    await observer.record(record({ level: 'write' }));
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 7 });
    other.exec('DELETE FROM audit WHERE seq > 4; DELETE FROM audit_head');
    other.close();
    assert.equal((await observer.verifyAudit()).ok, false);
  });

  test('no column of a row can be changed unseen, its seal included', async () => {
    const observer = await start();
    for (let i = 0; i < 4; i++) await observer.record(record({ level: 'write' }));
    const other = new DatabaseSync(observers.home.stateDb);
    const columns = other.prepare("SELECT name, type FROM pragma_table_info('audit') WHERE name <> 'seq'").all();
    assert.ok(columns.length > 15);
    for (const { name, type } of columns) {
      const before = other.prepare(`SELECT ${name} AS it FROM audit WHERE seq = 3`).get()!['it']!;
      const change = type === 'TEXT' ? `coalesce(${name}, '') || 'x'` : `${name} + 1`;
      other.exec(`UPDATE audit SET ${name} = ${change} WHERE seq = 3`);
      assert.deepEqual(await observer.verifyAudit(), { ok: false, rows: 4, brokenAt: 3 }, String(name));
      other.prepare(`UPDATE audit SET ${name} = ? WHERE seq = 3`).run(before);
    }
    other.close();
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 4 });
  });

  test('old rows can be removed, and what is left is still a whole chain that goes on', async () => {
    const observer = await start();
    const longAgo = new Date(Date.now() - 100 * 24 * 3600_000).toISOString();
    for (let i = 0; i < 1200; i++) void observer.record(record({ at: longAgo }));
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 1200 });
    for (let i = 0; i < 5; i++) await observer.record(record({ level: 'write' }));
    const before = new Date(Date.now() - 24 * 3600_000).toISOString();
    assert.deepEqual(await observer.pruneAudit(before), { deleted: 1200 });
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 5 });
    assert.equal((await observer.auditRows({ limit: 100 })).length, 5);
    await observer.record(record({ level: 'write' }));
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 6 });
    assert.deepEqual(await observer.pruneAudit(new Date(Date.now() + 1000).toISOString()), { deleted: 6 });
    await observer.record(record({ level: 'write' }));
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 1 });
  });

  for (const [name, sql] of [
    ['without the key', "DELETE FROM audit WHERE seq <= 4; UPDATE audit_start SET seq = 4, hash = 'x'"],
    ['without a word', 'DELETE FROM audit WHERE seq <= 4'],
    ['so that it seems to begin there', 'DELETE FROM audit_start'],
  ] as const)
    test(`rows that were removed ${name} are found, and removing more of them is refused`, async () => {
      const observer = await start();
      const longAgo = new Date(Date.now() - 100 * 24 * 3600_000).toISOString();
      for (let i = 0; i < 2; i++) await observer.record(record({ level: 'write', at: longAgo }));
      for (let i = 0; i < 6; i++) await observer.record(record({ level: 'write' }));
      await observer.pruneAudit(new Date(Date.now() - 24 * 3600_000).toISOString());
      assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 6 });
      const other = new DatabaseSync(observers.home.stateDb);
      other.exec(sql);
      const { n } = other.prepare('SELECT count(*) AS n FROM audit').get() as { n: number };
      assert.equal((await observer.verifyAudit()).ok, false);
      await assert.rejects(observer.pruneAudit(new Date(Date.now() + 1000).toISOString()), { code: 'tool.failed' });
      assert.deepEqual({ ...other.prepare('SELECT count(*) AS n FROM audit').get() }, { n });
      other.close();
    });

  test('a tool that was hardly ever called is found among very many, while others get their turn', async () => {
    const observer = await start();
    for (let i = 0; i < 3; i++) await observer.record(record({ level: 'write', name: 'rare' }));
    const other = new DatabaseSync(observers.home.stateDb);
    // The chain is of no account here, only how much there is to look through.
    other.exec(`WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
      INSERT INTO audit SELECT i, at, request_id, parent, 'often', tool_id, bundle, level, door, principal, token_id, project_id, session_id,
        outcome, duration_ms, result_bytes, args_hmac, calls, hash FROM n, audit WHERE seq = 1;
      UPDATE audit_head SET seq = 100000`);
    other.close();
    let turns = 0;
    let isOver = false;
    const count = (): void => void (isOver || (turns++, setImmediate(count)));
    setImmediate(count);
    const rows = await observer.auditRows({ limit: 10, tool: 'rare' });
    isOver = true;
    assert.deepEqual(
      rows.map((row) => row['seq']),
      [3, 2, 1],
    );
    assert.ok(turns >= 4, `${turns} turns`);
  });

  test('a flood of reads is written whole, in order, beside writes of the same process', async () => {
    const observer = await start();
    for (let i = 0; i < 1000; i++) {
      const level = i % 100 === 99 ? 'write' : 'read';
      const written = observer.record(record({ level, name: `demo_${level}`, requestId: `flood_${i}` }));
      if (level === 'write') await written;
    }
    const rows = await observer.auditRows({ limit: 2000 });
    assert.equal(rows.length, 1000);
    const reads = rows
      .filter((row) => row['level'] === 'read')
      .map((row) => Number(String(row['request_id']).slice(6)));
    assert.deepEqual(
      reads,
      [...reads].sort((a, b) => b - a),
    );
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 1000 });
  });

  test('a change whose row could not be written has one as soon as that is possible again', async () => {
    const observer = await start();
    const other = new DatabaseSync(observers.home.stateDb);
    other.exec("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room'); END");
    await observer.record(record({ level: 'admin', name: 'token_create' }));
    other.exec('DROP TRIGGER full');
    other.close();
    const rows = await observer.auditRows({ limit: 10 });
    assert.deepEqual(
      rows.map(({ tool }) => tool),
      ['token_create'],
    );
    assert.deepEqual(await observer.verifyAudit(), { ok: true, rows: 1 });
  });

  test('calls of a tool that happens to be called list are no polls', async () => {
    const observer = await start();
    for (let i = 0; i < 3; i++)
      await observer.record(record({ name: 'shop_list', pack: 'shop.list', argsDigest: () => `${i}` }));
    const rows = await observer.auditRows({ limit: 10 });
    assert.equal(new Set(rows.map((row) => row['args_hmac'])).size, 3);
  });

  test('polls are counted, one row a minute', async () => {
    const observer = await start();
    for (let i = 0; i < 50; i++) await observer.record(record({ name: 'session_events', pack: 'session.events' }));
    await observer.record(record({ name: 'project_list', pack: 'project.list' }));
    await stop(observer);
    const rows = await (await start()).auditRows({ limit: 10 });
    assert.deepEqual(rows.map((row) => [row['tool'], row['calls']]).sort(), [
      ['project_list', 1],
      ['session_events', 50],
    ]);
  });

  test('rows are answered newest first, filtered and paged', async () => {
    const observer = await start();
    for (let i = 0; i < 5; i++)
      await observer.record(record({ name: i % 2 ? 'demo_foo' : 'demo_bar', tokenId: `tok_${i}` }));
    const all = await observer.auditRows({ limit: 3 });
    assert.deepEqual(
      all.map((row) => row['token_id']),
      ['tok_4', 'tok_3', 'tok_2'],
    );
    const next = await observer.auditRows({ limit: 3, before: Number(all.at(-1)?.['seq']) });
    assert.deepEqual(
      next.map((row) => row['token_id']),
      ['tok_1', 'tok_0'],
    );
    assert.equal((await observer.auditRows({ limit: 9, tool: 'demo_foo' })).length, 2);
    assert.equal((await observer.auditRows({ limit: 9, tokenId: 'tok_0' })).length, 1);
  });

  test('a killed process loses no write that was answered', { timeout: 120_000 }, async () => {
    const child = fork(join(import.meta.dirname, 'fixtures', 'audit-writer.ts'), [observers.folder], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    let acknowledged = 0;
    child.on('message', () => acknowledged++);
    await until(() => acknowledged >= 30);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { ok, rows } = await (await start()).verifyAudit();
    assert.ok(ok);
    assert.ok(rows >= acknowledged, `${rows} rows for ${acknowledged} answers`);
  });
});
