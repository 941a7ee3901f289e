import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSessions } from './sessions.ts';
import { Database, type SqlValue } from './sqlite.ts';

/** Notes what it is asked for. */
class NotedDatabase extends Database {
  readonly asked: { sql: string; params: SqlValue[] }[] = [];
  override all<T>(sql: string, ...params: SqlValue[]): T[] {
    this.asked.push({ sql, params });
    return super.all<T>(sql, ...params);
  }
}

test('sessions at work are found without looking at those that are over', async () => {
  const db = new NotedDatabase(':memory:');
  const sessions = await openSessions(db);
  await sessions.list({ isLive: true });
  await sessions.list({ node: 'node_1', isLive: true });
  const [all, ours] = db.asked.slice(-2);
  for (const { sql, params } of [all!, ours!]) {
    const plan = db.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...params);
    assert.deepEqual(
      plan.map(({ detail }) => detail),
      ['SCAN sessions USING INDEX sessions_live'],
    );
  }
  await db.close();
});
