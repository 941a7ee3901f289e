import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { lentSession, questionOn } from '../kit/lent-session.ts';
import { rawRelay, type RawRelay } from '../kit/relay-socket.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { completed, turn, value } from '../kit/session.ts';
import { until } from '../kit/until.ts';

/** Files below a folder that hold a text. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        return (await readFile(path)).includes(text) ? path : '';
      }),
  );
  return found.filter((path) => path !== '');
}

/** What the server itself offers to its admin at the door for MCP clients. */
async function offeredByMcp(
  server: TestServer,
): Promise<{ name: string; description?: string; inputSchema: object }[]> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${server.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  await client.close();
  return tools.filter((tool) => tool.name !== 'run');
}

const seven = [
  'config_limits',
  'project_get',
  'project_list',
  'session_events',
  'session_get',
  'session_list',
  'workspace_list',
];

describe("the server's own tools over a session's socket", () => {
  let server: TestServer;
  let relay: RawRelay;
  let projectId: string;
  let sessionId: string;
  const keys: Record<string, string> = {};
  before(async () => {
    server = await testServer();
    projectId = (await value(server, 'project_create', { name: 'home' })).id;
    ({ sessionId } = await turn(server, { project_id: projectId, message: '1 + 1' }));
    relay = await rawRelay((await value(server, 'session_get', { session_id: sessionId })).relay_socket);
    for (const scope of ['read', 'write', 'admin'])
      keys[scope] = (await value(server, 'token_create', { name: scope, scope })).token;
  });
  after(async () => {
    relay.close();
    await value(server, 'session_end', { session_id: sessionId });
    await server.remove();
  });

  const discover = async (key: string): Promise<string[]> =>
    (await relay.ask('oubliette_tools', { api_key: key })).result.tools.map((tool: any) => tool.name).toSorted();
  const call = (api_key: string, tool: string, args?: unknown) =>
    relay.ask('oubliette_call_tool', { api_key, tool, ...(args !== undefined && { arguments: args }) });

  /** The key that a session was granted, as its own processes find it. */
  const keyInside = async (session_id: string): Promise<string> => {
    const command =
      'tr "\\0" "\\n" < /proc/1/environ; for p in /proc/[0-9]*; do tr "\\0" "\\n" < $p/environ; done 2>/dev/null';
    const { stdout } = await value(server, 'container_exec', { project_id: projectId, session_id, command });
    const key = /OUBLIETTE_API_KEY=(oub_\S+)/.exec(stdout)?.[1];
    assert.ok(key, 'the key is in the environment of the sandbox');
    return key;
  };

  it('a read key discovers just the seven read tools, with description and schema', async () => {
    assert.deepEqual(await discover(keys['read']!), seven);
    const { tools } = (await relay.ask('oubliette_tools', { api_key: keys['read'] })).result;
    for (const tool of tools) {
      assert.deepEqual(Object.keys(tool).toSorted(), ['description', 'inputSchema', 'name']);
      assert.ok(tool.description.length > 10);
      assert.equal(tool.inputSchema.type, 'object');
    }
  });

  it('a write key discovers projects, containers, sessions, workspaces and image_rebuild too', async () => {
    const families = /^(project|container|session|workspace)_|^(image_rebuild|config_limits)$/;
    const expected = (await offeredByMcp(server)).map((tool) => tool.name).filter((name) => families.test(name));
    for (const name of [...seven, 'project_delete', 'container_logs', 'session_spawn', 'workspace_create'])
      assert.ok(expected.includes(name), name);
    assert.deepEqual(await discover(keys['write']!), expected.toSorted());
  });

  it('an admin key discovers all of them', async () => {
    const { tools } = (await relay.ask('oubliette_tools', { api_key: keys['admin'] })).result;
    const names = tools.map((tool: any) => tool.name);
    for (const name of ['token_create', 'token_list', 'token_revoke', 'project_list', 'caller_tool_response'])
      assert.ok(names.includes(name), name);
    const offered = await offeredByMcp(server);
    assert.deepEqual(names.toSorted(), offered.map((tool) => tool.name).toSorted());
    for (const { name, description, inputSchema } of offered)
      assert.deepEqual(
        tools.find((tool: any) => tool.name === name),
        { name, description, inputSchema },
      );
  });

  it('refuses keys that are wrong, malformed, empty or enormous, in the same words', async () => {
    for (const api_key of ['oub_wrong', '', `oub_${'A'.repeat(43)}`, 'x'.repeat(1_000_000), 7, null, {}]) {
      const { error } = await relay.ask('oubliette_tools', { api_key });
      assert.deepEqual(
        [error.code, error.message, error.data.code],
        [-32001, 'invalid or expired API key', 'auth.invalid'],
      );
      for (const tool of ['project_list', 'token_create', 'no_such'])
        assert.deepEqual((await relay.ask('oubliette_call_tool', { api_key, tool })).error, error, tool);
    }
  });

  it('asks for what is missing', async () => {
    const api_key = keys['read'];
    for (const [method, params, lacking] of [
      ['oubliette_tools', {}, 'api_key'],
      ['oubliette_call_tool', {}, 'api_key'],
      ['oubliette_call_tool', { tool: 'project_list' }, 'api_key'],
      ['oubliette_call_tool', { api_key }, 'tool'],
      ['oubliette_call_tool', { api_key: 'oub_wrong' }, 'tool'],
      ['oubliette_call_tool', { api_key, tool: 7 }, 'tool'],
      ['caller_tool', {}, 'tool'],
      ['caller_tool', { tool: ['x'] }, 'tool'],
    ] as const) {
      const { error } = await relay.ask(method, params);
      assert.deepEqual([error.code, error.message], [-32602, `${lacking} is missing`], JSON.stringify(params));
    }
  });

  it('runs a tool and answers its JSON as text', async () => {
    const { result } = await call(keys['read']!, 'project_list', {});
    assert.equal(result.isError, false);
    const projects = JSON.parse(result.content[0].text).projects.map((each: any) => each.name);
    assert.ok(projects.includes('home'), String(projects));
    assert.deepEqual((await call(keys['read']!, 'project_list')).result, result, 'arguments may be left out');
  });

  it('creates a project with a write key', async () => {
    const { result } = await call(keys['write']!, 'project_create', { name: 'test-project' });
    const made = JSON.parse(result.content[0].text);
    assert.match(made.id, /^proj_/);
    assert.equal((await value(server, 'project_get', { project_id: made.id })).name, 'test-project');
  });

  it('hands tool errors and bad arguments to the agent as results', async () => {
    const again = await call(keys['write']!, 'project_create', { name: 'home' });
    assert.equal(again.result.isError, true);
    assert.match(again.result.content[0].text, /home/);
    const bad = await call(keys['write']!, 'project_create', { nme: 'x' });
    assert.equal(bad.result.isError, true);
    assert.match(bad.result.content[0].text, /name/);
    assert.equal((await call(keys['read']!, 'project_get', { project_id: 'proj_none' })).result.isError, true);
    const { result } = await relay.ask('run', { code: '1 / 0' });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /ZeroDivisionError/);
  });

  it('refuses what the scope does not cover, whether it exists or not', async () => {
    for (const [scope, tool] of [
      ['write', 'token_create'],
      ['read', 'project_create'],
      ['write', 'no_such'],
      ['read', 'demo_foo'],
    ] as const) {
      const { error } = await call(keys[scope]!, tool, {});
      assert.deepEqual(
        [error.code, error.message, error.data.code],
        [-32002, 'tool not allowed for this token scope', 'scope.denied'],
        tool,
      );
    }
    assert.equal((await call(keys['admin']!, 'no_such', {})).error.code, -32602);
    assert.equal((await call(keys['admin']!, 'demo_foo', { text: 'x' })).error.code, -32602);
  });

  it('neither offers nor runs one that is switched off', async () => {
    const { tools } = (await server.ask('GET', '/tools/tools/search?q=workspace-list')).body;
    const { bundleID, slug, version } = tools.find((tool: any) => tool.name === 'workspace_list');
    const turnTo = (isEnabled: boolean) =>
      server.ask('PATCH', `/tools/bundles/${bundleID}/tools/${slug}/version/${version}`, { isEnabled });
    assert.equal((await turnTo(false)).status, 200);
    assert.deepEqual(
      await discover(keys['read']!),
      seven.filter((name) => name !== 'workspace_list'),
    );
    assert.equal((await call(keys['read']!, 'workspace_list', { project_id: projectId })).error.code, -32002);
    assert.equal((await turnTo(true)).status, 200);
    assert.deepEqual(await discover(keys['read']!), seven);
  });

  it('writes down who asked for what their key does not cover', async () => {
    const weak = await value(server, 'token_create', { name: 'weak', scope: 'read' });
    assert.equal((await call(weak.token, 'token_list', {})).error.code, -32002);
    const { rows } = await value(server, 'audit_list', { token_id: weak.id });
    assert.deepEqual(
      rows.map((row: any) => [row.tool, row.level, row.door, row.outcome, row.session_id, row.project_id]),
      [['token_list', 'admin', 'socket', 'scope.denied', sessionId, projectId]],
    );
  });

  it('tells an agent in its sandbox that its key is too weak for a tool, whether it was offered or not', async () => {
    const grant = { scope: 'write' };
    const message =
      'try:\n  oubliette_token_create(name="inside", scope="read")\nexcept RuntimeError as e:\n  said = str(e)\nsaid';
    const denied = await turn(server, { project_id: projectId, create_workspace: true, message, grant });
    assert.equal(denied.text, 'tool not allowed for this token scope');
    await value(server, 'session_end', { session_id: denied.sessionId });
  });

  it('checks the key at every call: expired or revoked since discovery', async () => {
    const short = await value(server, 'token_create', { name: 'short', scope: 'read', ttl_seconds: 3 });
    const doomed = await value(server, 'token_create', { name: 'doomed', scope: 'read' });
    assert.deepEqual(await discover(short.token), seven);
    assert.equal((await call(doomed.token, 'project_list')).result.isError, false);
    await value(server, 'token_revoke', { token_id: doomed.id });
    assert.equal((await call(doomed.token, 'project_list')).error.code, -32001);
    await until(async () => (await call(short.token, 'project_list')).error?.code === -32001);
  });

  it('shows a narrowed key its own projects alone', async () => {
    const { token } = await value(server, 'token_create', { name: 'narrow', scope: 'read', projects: [projectId] });
    const other = await value(server, 'project_create', { name: 'other' });
    const listed = JSON.parse((await call(token, 'project_list')).result.content[0].text).projects;
    assert.deepEqual(
      listed.map((each: any) => each.id),
      [projectId],
    );
    assert.equal((await call(token, 'project_get', { project_id: other.id })).result.isError, true);
    const bundled = await value(server, 'token_create', { name: 'bundled', scope: 'write', bundles: ['workspace'] });
    assert.deepEqual(
      (await discover(bundled.token)).filter((name) => !name.startsWith('workspace_')),
      [],
    );
    assert.equal((await call(bundled.token, 'project_list')).error.code, -32002);
  });

  it('starts children in its own place and without a key, whatever else is asked for', async () => {
    const other = await value(server, 'project_create', { name: 'elsewhere' });
    const { result } = await relay.ask('session_message', {
      message: '[name for name in tools() if name.startswith("oubliette_")]',
      project_id: other.id,
      workspace_id: other.default_workspace_id,
      create_workspace: true,
      grant: { scope: 'write' },
    });
    const parent = await value(server, 'session_get', { session_id: sessionId });
    const child = await value(server, 'session_get', { session_id: result.session_id });
    assert.deepEqual(
      [child.parent_id, child.project_id, child.workspace_id],
      [sessionId, projectId, parent.workspace_id],
    );
    assert.equal(await completed(server, child.id, 1), '[]');
    await value(server, 'session_end', { session_id: child.id });
  });

  it('what a key starts from inside is a child of the session, whoever owns the key', async () => {
    const { result } = await call(keys['write']!, 'session_spawn', { project_id: projectId, message: '1' });
    const { session_id } = JSON.parse(result.content[0].text);
    const child = await value(server, 'session_get', { session_id });
    assert.deepEqual([child.parent_id, child.depth], [sessionId, 1]);
    await value(server, 'session_end', { session_id });
  });

  it('never lets an agent change the catalog or hand itself more than its key has', async () => {
    const made = JSON.parse(
      (await call(keys['admin']!, 'token_create', { name: 'x', scope: 'read' })).result.content[0].text,
    );
    assert.equal(made.session_id, sessionId, 'what a session makes belongs to it');
    for (const [tool, args] of [
      ['secret_set', { name: 'X', value: 'long enough' }],
      ['settings_set', { path: ['limits', 'depth'], value: 9 }],
    ] as const)
      assert.equal((await call(keys['admin']!, tool, args)).result.isError, true, tool);
    for (const limits of [{ depth: 10 }, { agents: 1000 }]) {
      const { result } = await call(keys['write']!, 'project_create', { name: 'wide', limits });
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /cannot make a project with more (depth|agents) than its own/);
    }
  });

  it('never lets an agent answer what it asks its own caller, whatever key that caller granted', async () => {
    const lent = await lentSession(
      server,
      projectId,
      server.token,
      { caller_id: 'ant', caller_tools: [{ name: 'may_i' }] },
      { grant: { scope: 'admin' } },
    );
    const stream = await lent.follow();
    const question = lent.relay.ask('caller_tool', { tool: 'may_i', arguments: {} });
    const { request_id } = (await questionOn(stream, 'may_i')).data;
    const { result } = await lent.relay.ask('oubliette_call_tool', {
      api_key: await keyInside(lent.sessionId),
      tool: 'caller_tool_response',
      arguments: { session_id: lent.sessionId, request_id, result: 'yes' },
    });
    assert.equal(result.isError, true);
    assert.match(result.content[0].text, /^There is no open request ask_/);
    assert.equal((await lent.respond(request_id, { result: 'no' })).status, 200);
    assert.equal((await question).result, 'no');
    lent.close();
    await value(server, 'session_end', { session_id: lent.sessionId });
  });

  it("no project can grant the server's own tools to a session without a key", async () => {
    for (const bundle of ['token', 'project', 'session', 'secret', 'settings']) {
      const refused = await server.ask('POST', '/call/project_create', {
        args: { name: `grants-${bundle}`, bundles: [bundle] },
      });
      assert.equal(refused.status, 400, bundle);
    }
    const { result } = await relay.ask('run', { code: 'project.list()' });
    assert.equal(result.isError, true);
    assert.equal((await relay.ask('run', { code: 'demo.foo(text="x")' })).result.isError, false);
    const changing = (await relay.ask('run', { code: 'ot.reload()' })).result;
    assert.equal(changing.isError, true, 'what a project grants by default only reads');
    assert.match(changing.content[0].text, /needs level write/);
  });

  it('a key granted to one session is worth nothing on the socket of another', async () => {
    const { sessionId: granted } = await turn(server, {
      project_id: projectId,
      create_workspace: true,
      message: 'oubliette_project_list()',
      grant: {},
    });
    const key = await keyInside(granted);
    const theirs = await rawRelay((await value(server, 'session_get', { session_id: granted })).relay_socket);
    assert.equal((await theirs.ask('oubliette_tools', { api_key: key })).result.tools.length, 7, 'read unless told');
    assert.equal((await relay.ask('oubliette_tools', { api_key: key })).error.code, -32001);
    await theirs.ask('oubliette_call_tool', { api_key: key, tool: 'project_get', arguments: { project_id: key } });
    theirs.close();
    assert.deepEqual(await filesWith(server.home, key), [], 'the key lies in no file');
    await until(async () => {
      const { rows } = await value(server, 'audit_list', { tool: 'project_get' });
      return rows.some(
        (row: any) => row.session_id === granted && row.door === 'socket' && row.token_id.startsWith('tok_'),
      );
    });
    const before = (await value(server, 'token_list', {})).tokens.find((each: any) => each.session_id === granted);
    assert.equal(before.revoked, false);
    await value(server, 'session_end', { session_id: granted });
    const afterwards = (await value(server, 'token_list', {})).tokens.find((each: any) => each.id === before.id);
    assert.equal(afterwards.revoked, true, 'it ends with its session');
  });
});
