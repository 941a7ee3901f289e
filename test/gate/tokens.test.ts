import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { v7 } from 'uuid';
import { bundleBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

describe('tokens', () => {
  let server: TestServer;
  let projectAdmin: string;
  before(async () => {
    server = await testServer();
    const wish = { name: 'x', scope: 'admin', projects: ['proj_x'] };
    projectAdmin = (await server.call('token_create', wish)).value.token;
  });
  after(() => server.remove());

  it('that are malformed, unknown, expired, revoked or rotated away are refused', async () => {
    const status = async (token: string) =>
      (await server.ask('GET', '/tools/bundles', undefined, token)).body.error?.code;
    for (const token of ['x', 'oub_', `oub_${'A'.repeat(43)}`, 'oub_'.repeat(4000)])
      assert.equal(await status(token), 'auth.invalid', token.slice(0, 20));
    const short = (await server.call('token_create', { name: 'short', scope: 'read', ttl_seconds: 3 })).value;
    assert.equal(await status(short.token), undefined);
    await until(async () => (await status(short.token)) === 'auth.invalid');
    const made = (await server.call('token_create', { name: 'gone', scope: 'read' })).value;
    const rotated = (await server.call('token_rotate', { token_id: made.id })).value;
    assert.equal(await status(made.token), 'auth.invalid');
    assert.equal(await status(rotated.token), undefined);
    assert.deepEqual((await server.call('token_revoke', { token_id: made.id })).value, { id: made.id, revoked: true });
    assert.equal(await status(rotated.token), 'auth.invalid');
    for (const token_id of [made.id, short.id])
      assert.equal(
        (await server.ask('POST', '/call/token_rotate', { args: { token_id } })).status,
        404,
        'it stays over',
      );
    const listed = (await server.call('token_list', {})).value.tokens.find((each: any) => each.id === made.id);
    assert.equal(listed.revoked, true);
    assert.equal(listed.token, undefined);
    const first = (await server.call('token_list', { page_size: 1 })).value;
    const rest = (await server.call('token_list', { page_size: 1_000, page_token: first.next_page_token })).value;
    assert.equal(first.tokens.length, 1);
    assert.ok(rest.tokens.every((each: any) => each.id !== first.tokens[0].id) && rest.tokens.length > 0);
    assert.equal((await server.call('token_list', { page_token: 'zzz' })).error.code, 'page_token.invalid');
  });

  it('that would be over before they begin are not made', async () => {
    const make = async (expires_at: string) =>
      (await server.ask('POST', '/call/token_create', { args: { name: 'due', scope: 'read', expires_at } })).body;
    for (const [expires_at, reason] of [
      ['2020-01-01T00:00:00Z', /^lies in the past; it is 2\d{3}-/],
      [new Date().toISOString(), /^lies in the past/],
      ['2099-12-31T23:59:60Z', /^is no time on the calendar$/],
    ] as const) {
      const { error } = await make(expires_at);
      assert.equal(error.code, 'args.invalid', expires_at);
      assert.equal(error.details[0].path, '/args/expires_at');
      assert.match(error.details[0].message, reason);
    }
    const both = { name: 'due', scope: 'read', expires_at: '2099-01-01T00:00:00Z', ttl_seconds: 5 };
    assert.equal((await server.ask('POST', '/call/token_create', { args: both })).status, 400);
    const made = await make('2099-01-01T01:00:00+01:00');
    assert.equal(made.value.expires_at, '2099-01-01T00:00:00.000Z');
    const { tokens: all } = (await server.call('token_list', { page_size: 256 })).value;
    assert.equal(all.filter((each: any) => each.name === 'due').length, 1);
  });

  it('are never taken from the query', async () => {
    assert.equal(
      (await fetch(`${server.url}/tools/bundles?token=${server.token}&authorization=Bearer%20${server.token}`)).status,
      401,
    );
  });

  it('hand on no more than they have', async () => {
    const refused = await server.ask(
      'POST',
      '/call/token_create',
      { args: { name: 'x', scope: 'admin', projects: ['proj_y'] } },
      projectAdmin,
    );
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'scope.denied']);
    const made = await server.call('token_create', { name: 'x', scope: 'read' }, projectAdmin);
    assert.deepEqual(made.value.projects, ['proj_x']);
  });

  it('for a bundle that is not there are made with a warning, which names the one that was meant if its maker reaches it', async () => {
    const warnings = async (bundles: string[], as?: string) =>
      (await server.call('token_create', { name: 'x', scope: 'admin', bundles }, as)).value.warnings;
    assert.equal(await warnings(['demo', 'token']), undefined);
    const none = 'now: until there is one, this token reaches nothing in it.';
    const meant = 'Did you mean demo? Then revoke this token and make another.';
    assert.deepEqual(await warnings(['dmeo', 'demo', 'xyzzy', 'dmeo']), [
      `There is no bundle dmeo ${none} ${meant}`,
      `There is no bundle xyzzy ${none}`,
    ]);
    const narrow = { name: 'x', scope: 'admin', bundles: ['token', 'dmeo'] };
    const { token } = (await server.call('token_create', narrow)).value;
    assert.deepEqual(await warnings(['dmeo'], token), [`There is no bundle dmeo ${none}`]);
    const rest = await server.ask('PUT', `/tools/bundles/${v7()}`, bundleBody('dmeo'), token);
    assert.equal(rest.status, 201, 'it may be the one that makes it');
    assert.equal(await warnings(['dmeo'], token), undefined);
  });

  it('that are narrowed see and touch those in their reach alone, however many others lie between', async () => {
    const as = projectAdmin;
    const own = [(await server.call('token_create', { name: 'own', scope: 'read' }, as)).value];
    const others = [];
    for (const projects of [[], ['proj_y'], ['proj_x', 'proj_y']])
      others.push((await server.call('token_create', { name: 'other', scope: 'read', projects })).value);
    own.push((await server.call('token_create', { name: 'own', scope: 'read' }, as)).value);
    const walked: any[] = [];
    for (let page_token: string | undefined; ;) {
      const page = (await server.call('token_list', { page_size: 1, ...(page_token && { page_token }) }, as)).value;
      walked.push(...page.tokens);
      if (!(page_token = page.next_page_token)) break;
    }
    assert.ok(walked.every(({ projects }) => projects.join() === 'proj_x'));
    assert.deepEqual(
      walked.filter(({ name }) => name === 'own').map(({ id }) => id),
      own.map(({ id }) => id),
    );
    for (const { id: token_id, token } of others) {
      for (const tool of ['token_revoke', 'token_rotate'])
        assert.equal((await server.ask('POST', `/call/${tool}`, { args: { token_id } }, as)).status, 404, tool);
      assert.equal((await server.ask('GET', '/tools/bundles', undefined, token)).status, 200);
    }
    assert.equal((await server.call('token_revoke', { token_id: own[0].id }, as)).value.revoked, true);
  });
});
