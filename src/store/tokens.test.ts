import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Database } from './sqlite.ts';
import { sqliteTokens } from './tokens.ts';

const dayMs = 24 * 3600_000;

test('tokens that are over are listed for three months and then forgotten, those that are good stay', async () => {
  const db = new Database(':memory:');
  const at = (days: number): string => new Date(Date.now() + days * dayMs).toISOString();
  const add = async (id: string, more: { expiresAt?: string; sessionId?: string } = {}): Promise<void> => {
    const tokens = await sqliteTokens(db);
    const row = { id, name: id, scope: 'read' as const, createdAt: at(-400), principal: id, ...more };
    await tokens.add(row, Buffer.from(id));
  };
  const tokens = await sqliteTokens(db);
  for (const id of ['tok_good', 'tok_revoked_lately', 'tok_revoked_long_ago']) await add(id);
  for (let i = 0; i < 20; i++) await add(`tok_session_${i}`, { sessionId: `ses_${i}` });
  await add('tok_expires_later', { expiresAt: at(1) });
  await add('tok_expired_lately', { expiresAt: at(-1) });
  await add('tok_expired_long_ago', { expiresAt: at(-91) });
  await tokens.revoke('tok_revoked_lately', at(-89));
  await tokens.revoke('tok_revoked_long_ago', at(-91));
  for (let i = 0; i < 20; i++) await tokens.revokeOfSession(`ses_${i}`, at(-91));
  await add('tok_new');
  assert.deepEqual(
    (await tokens.list('', 100)).map(({ id }) => id),
    ['tok_expired_lately', 'tok_expires_later', 'tok_good', 'tok_new', 'tok_revoked_lately'],
  );
  await db.close();
});
