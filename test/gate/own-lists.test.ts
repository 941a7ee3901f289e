import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newId } from '../../src/schema/index.ts';
import { Database, openSessions, type SessionRow } from '../../src/store/index.ts';
import { testServer, type TestServer } from '../kit/server.ts';

let server: TestServer;
before(async () => {
  server = await testServer();
});
after(() => server.remove());

const page = async (tool: string, args: object) => (await server.call(tool, { ...args })).value;
/** The same token with another letter somewhere, or for another place in its list. */
const forged = (token: string): string[] => [
  `${token}A`,
  token.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
  Buffer.from(JSON.stringify(['session_list', { before: 'ses_00000000000000000000000000' }])).toString('base64url'),
  'tok_00000000000000000000000000',
  '1',
];

async function keepEndedSessions(projectId: string, count: number): Promise<void> {
  const db = new Database(join(server.home, 'state.db'));
  const tables = await openSessions(db);
  const at = new Date().toISOString();
  const row: Omit<SessionRow, 'id' | 'root_id'> = {
    project_id: projectId,
    workspace_id: newId('wsp'),
    parent_id: null,
    depth: 0,
    status: 'ended',
    agent: 'embedded',
    model: null,
    owner: 'someone',
    turn: 1,
    last_turn: 1,
    permissions: 'auto',
    caller: null,
    place: null,
    box: null,
    key_grant: null,
    spool_offset: 0,
    agent_state: null,
    error: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: 0,
    reserved_usd: 0,
    node: null,
    wanted: null,
    created_at: at,
    updated_at: at,
  };
  await db.write(() => {
    for (let i = 0; i < count; i++) {
      const id = newId('ses');
      tables.insert({ ...row, id, root_id: id });
    }
  });
  await db.close();
}

test('a page token of sessions carries its filters, which win over others, and cannot be made by hand', async () => {
  const [one, other] = [
    (await server.call('project_create', { name: 'one' })).value.id,
    (await server.call('project_create', { name: 'other' })).value.id,
  ];
  await keepEndedSessions(one, 120);
  await keepEndedSessions(other, 5);
  const first = await page('session_list', { project_id: one, status: 'ended' });
  assert.equal(first.sessions.length, 100);
  for (const more of [{}, { project_id: other, status: 'idle' }]) {
    const next = await page('session_list', { ...more, page_token: first.next_page_token });
    assert.equal(next.sessions.length, 20);
    assert.ok(next.sessions.every((each: { project_id: string }) => each.project_id === one));
    assert.equal(next.next_page_token, undefined);
  }
  for (const page_token of forged(first.next_page_token))
    assert.equal((await server.call('session_list', { page_token })).error.code, 'page_token.invalid', page_token);
  assert.equal(
    (await server.call('token_list', { page_token: first.next_page_token })).error.code,
    'page_token.invalid',
    'that of another list',
  );
});

test('page tokens of the audit and of the tokens cannot be made by hand', async () => {
  for (const name of ['a', 'b']) await server.call('token_create', { name, scope: 'read' });
  const audit = await page('audit_list', { limit: 1, tool: 'token_create' });
  const next = await page('audit_list', { limit: 1, page_token: audit.next_page_token });
  assert.deepEqual(
    [audit, next].map(({ rows }) => rows[0].tool),
    ['token_create', 'token_create'],
  );
  assert.ok(next.rows[0].seq < audit.rows[0].seq);
  const tokens = await page('token_list', { page_size: 1 });
  for (const [tool, token] of [
    ['audit_list', audit.next_page_token],
    ['token_list', tokens.next_page_token],
  ])
    for (const page_token of forged(token))
      assert.equal((await server.call(tool, { page_token })).error.code, 'page_token.invalid', `${tool} ${page_token}`);
});
