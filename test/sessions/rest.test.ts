import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openRestPlace } from './rest-place.ts';

const { project, writer, reader, outsider, call, value } = await openRestPlace();

describe('own tools over REST', () => {
  test('answer a project exactly as the contract lists it', async () => {
    for (const key of [
      'id',
      'name',
      'description',
      'status',
      'agent',
      'sandbox',
      'default_workspace_id',
      'limits',
      'bundles',
      'created_at',
    ])
      assert.ok(key in project, key);
    assert.match(project.id, /^proj_/);
    assert.deepEqual(project.limits, { depth: 3, agents: 50, cost_usd: 10 });
    assert.deepEqual((await value('project_get', { project_id: project.id })).id, project.id);
    assert.deepEqual(
      (await value('project_list', {}, reader)).projects.map((each: any) => each.id),
      [project.id],
    );
    assert.deepEqual((await value('project_list', {}, outsider)).projects, []);
  });

  test('refuse in the words of the contract', async () => {
    const cases: [string, object, string | undefined, number, string][] = [
      ['project_create', { name: 'journey' }, writer, 409, 'project.exists'],
      ['project_create', { name: '' }, writer, 400, 'args.invalid'],
      ['project_create', { name: ' \t' }, writer, 400, 'args.invalid'],
      ['project_create', { name: 'a\u0001b' }, writer, 400, 'args.invalid'],
      ['project_create', { name: 'x', colour: 'red' }, writer, 400, 'args.invalid'],
      ['project_create', { name: 'x', env: { OUBLIETTE_API_KEY: 'a' } }, writer, 400, 'request.invalid'],
      ['project_create', { name: 'x', env: { 'A=B': 'a' } }, writer, 400, 'args.invalid'],
      ['project_create', { name: 'x', secrets: ['A'] }, writer, 403, 'scope.denied'],
      ['project_create', { name: 'x' }, reader, 403, 'scope.denied'],
      ['project_get', { project_id: project.id }, outsider, 404, 'project.not_found'],
      ['project_get', {}, writer, 400, 'args.invalid'],
      ['session_get', { session_id: 'ses_none' }, reader, 404, 'session.not_found'],
      ['session_message', { project_id: project.id }, writer, 400, 'args.invalid'],
      ['session_message', { message: 'x' }, writer, 400, 'request.invalid'],
      [
        'session_message',
        { project_id: project.id, message: 'x', caller_id: 'oubliette', caller_tools: [] },
        writer,
        400,
        'request.invalid',
      ],
      [
        'session_message',
        { project_id: project.id, message: 'x', context: { caller_id: 'ant', caller_tools: [{ name: 'bad name' }] } },
        writer,
        400,
        'request.invalid',
      ],
      [
        'session_message',
        {
          project_id: project.id,
          message: 'x',
          context: { caller_id: 'a', caller_tools: [{ name: 'b', inputSchema: { type: 'nonsense' } }] },
        },
        writer,
        400,
        'request.invalid',
      ],
      ['session_message', { project_id: project.id, message: 'x' }, outsider, 404, 'project.not_found'],
      ['session_end', { session_id: 'ses_none' }, writer, 404, 'session.not_found'],
      ['workspace_delete', { workspace_id: project.default_workspace_id }, writer, 409, 'workspace.default'],
      ['workspace_delete', { workspace_id: 'wsp_none' }, writer, 404, 'workspace.not_found'],
      [
        'caller_tool_response',
        { session_id: 'ses_none', request_id: 'ask_none', result: 1, error: 'both' },
        writer,
        400,
        'request.invalid',
      ],
    ];
    for (const [name, args, token, status, code] of cases) {
      const answer = await call(name, args, token);
      assert.deepEqual(
        [answer.status, answer.body.error?.code],
        [status, code],
        `${name} ${JSON.stringify(args)}: ${JSON.stringify(answer.body)}`,
      );
    }
  });

  test('show limits of nothing, a project and a session', async () => {
    const limits = await value('config_limits', { project_id: project.id }, reader);
    assert.deepEqual([limits.max_depth, limits.max_agents, limits.max_cost_usd], [3, 50, 10]);
    assert.deepEqual(limits.remaining, { depth: 3, agents: 50, cost_usd: 10 });
    assert.equal(limits.sandbox.driver, project.sandbox.driver);
    assert.equal((await value('config_limits', {}, reader)).max_agents, 50);
  });

  test('make and find workspaces', async () => {
    const space = await value('workspace_create', { project_id: project.id, external_id: 'T1', source: 'chat' });
    assert.deepEqual(Object.keys(space), [
      'id',
      'project_id',
      'is_default',
      'external_id',
      'source',
      'created_at',
      'last_session_at',
    ]);
    const { workspaces } = await value('workspace_list', { project_id: project.id, external_id: 'T1' }, reader);
    assert.deepEqual(workspaces, [space]);
    assert.equal((await value('workspace_delete', { workspace_id: space.id })).deleted, true);
  });

  test('run a command in the sandbox of the project', async () => {
    const done = await value('container_exec', { project_id: project.id, command: 'echo out; echo err >&2; exit 3' });
    assert.deepEqual(done, { exit_code: 3, stdout: 'out\n', stderr: 'err\n', timed_out: false, truncated: false });
    assert.equal(
      (await value('container_exec', { project_id: project.id, command: ['sleep', '20'], timeout_ms: 200 })).timed_out,
      true,
    );
    assert.deepEqual(await value('container_stop', { project_id: project.id }), { id: project.id, status: 'stopped' });
  });
});
