import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { newId } from '../../src/schema/index.ts';
import { Database, openSessions } from '../../src/store/index.ts';
import { keepEndedSessions } from '../kit/ended-sessions.ts';
import { sessionRow } from '../kit/session-row.ts';
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

test('a page token of sessions carries its filters, which win over others, and cannot be made by hand', async () => {
  const [one, other] = [
    (await server.call('project_create', { name: 'one' })).value.id,
    (await server.call('project_create', { name: 'other' })).value.id,
  ];
  await keepEndedSessions(server.home, one, 120);
  await keepEndedSessions(server.home, other, 5);
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

test('a session and its relatives are listed page after page, whatever else the project holds', async () => {
  const project_id: string = (await server.call('project_create', { name: 'family' })).value.id;
  const root = newId('ses');
  const children = Array.from({ length: 120 }, () => newId('ses'));
  const row = (id: string, parent_id: string | null) =>
    sessionRow({ id, parent_id, root_id: root, project_id, workspace_id: 'wsp', status: 'ended' });
  const db = new Database(join(server.home, 'state.db'));
  const tables = await openSessions(db);
  await db.write(() => [root, ...children].forEach((id) => tables.insert(row(id, id === root ? null : root))));
  await db.close();
  await keepEndedSessions(server.home, project_id, 150);
  const found: string[] = [];
  let page_token: string | undefined;
  do {
    const { sessions, ...more } = await page('session_list', page_token ? { page_token } : { tree_of: children[7] });
    found.push(...sessions.map(({ id }: { id: string }) => id));
    page_token = more.next_page_token;
  } while (page_token);
  assert.deepEqual(found.sort(), [root, ...children].sort());
  assert.equal((await server.call('session_list', { tree_of: newId('ses') })).error.code, 'session.not_found');
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
