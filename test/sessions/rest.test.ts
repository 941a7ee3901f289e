import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';
import { openStream } from './sse.ts';

let server: TestServer;
let project: any;
let writer: string;
let reader: string;
let outsider: string;

before(async () => {
  server = await testServer({ config: 'limits: { reconnectGraceMs: 500 }\n' });
  project = (await server.call('project_create', { name: 'journey', description: 'what for' })).value;
  const token = async (args: object): Promise<string> =>
    (await server.call('token_create', { name: 't', ...args })).value.token;
  writer = await token({ scope: 'write' });
  reader = await token({ scope: 'read' });
  outsider = await token({ scope: 'write', projects: ['proj_none'] });
});
after(() => server.remove());

const call = async (name: string, args: object, token = writer): Promise<any> =>
  server.ask('POST', `/call/${name}`, { args }, token);
const value = async (name: string, args: object, token = writer): Promise<any> => {
  const { status, body } = await call(name, args, token);
  assert.equal(status, 200, JSON.stringify(body));
  assert.ok(body.ok, JSON.stringify(body));
  return body.value;
};
const eventsUrl = (id: string, query = ''): string => `${server.url}/sessions/${id}/events${query}`;

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

describe('files of a workspace over REST', () => {
  const files = (path: string): string => `${server.url}/workspaces/${project.default_workspace_id}/files${path}`;
  const send = (method: string, path: string, body?: string | Uint8Array, token = writer): Promise<Response> =>
    fetch(files(path), {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: body as string }),
    });

  /** Sent as written: a browser would tidy the path up. */
  const rawStatus = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const url = new URL(server.url);
      request(
        {
          host: url.hostname,
          port: url.port,
          path: `/workspaces/${project.default_workspace_id}/files${path}`,
          headers: { authorization: `Bearer ${writer}` },
        },
        (response) => {
          response.resume();
          resolve(response.statusCode!);
        },
      )
        .on('error', reject)
        .end();
    });

  test('go in and out as raw bytes', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 256);
    assert.equal((await send('PUT', '/deep/er/a b.bin', bytes)).status, 201);
    assert.equal((await send('PUT', '/deep/er/a b.bin', bytes)).status, 200);
    const back = await send('GET', '/deep/er/a b.bin');
    assert.deepEqual(new Uint8Array(await back.arrayBuffer()), bytes);
    const list: any = await (await send('GET', '/deep')).json();
    assert.deepEqual(
      list.entries.map((entry: any) => [entry.name, entry.type]),
      [['er', 'folder']],
    );
    const tar = await send('GET', '/?archive=tar');
    assert.ok((await tar.arrayBuffer()).byteLength > 70_000);
    assert.equal((await send('DELETE', '/deep')).status, 204);
    assert.equal((await send('GET', '/deep')).status, 404);
    assert.equal((await send('PUT', '/empty', '')).status, 201);
    assert.equal((await (await send('GET', '/empty')).arrayBuffer()).byteLength, 0);
  });

  test('outlive whoever leaves in the middle of an archive', async () => {
    await send('PUT', '/big/one', new Uint8Array(8_000_000));
    for (const kind of ['tar', 'tgz']) {
      const leaving = new AbortController();
      const answer = await fetch(files(`/?archive=${kind}`), {
        headers: { authorization: `Bearer ${writer}` },
        signal: leaving.signal,
      });
      await answer.body!.getReader().read();
      leaving.abort();
    }
    assert.equal((await send('GET', '/?archive=zip')).status, 400);
    assert.equal((await send('GET', '/big/one?archive=tar')).status, 404);
    assert.equal((await send('DELETE', '/big')).status, 204);
  });

  test('that are cut off while they come leave nothing, and no error in the log', async () => {
    const url = new URL(files('/half'));
    const half = request({
      host: url.hostname,
      port: url.port,
      path: url.pathname,
      method: 'PUT',
      headers: { authorization: `Bearer ${writer}`, 'content-length': 1000 },
    });
    half.on('error', () => {});
    half.write('abc');
    const folder = join(server.home, 'projects', project.id, 'workspaces', project.default_workspace_id);
    await until(async () => (await readdir(folder)).some((name) => name.endsWith('.tmp')));
    half.destroy();
    await until(async () => !(await readdir(folder)).some((name) => name.endsWith('.tmp')));
    assert.equal((await send('GET', '/half')).status, 404);
    const log = await readFile(join(server.home, 'logs', 'server.log'), 'utf8').catch(() => '');
    assert.doesNotMatch(log, /abortIncoming/);
  });

  test('are seen by commands inside, and links that these make lead nowhere', async () => {
    await send('PUT', '/seen.txt', 'from outside');
    const made = await value('container_exec', {
      project_id: project.id,
      command: 'cat seen.txt; ln -s /etc/passwd evil; ln -s / root; ln -s seen.txt good',
    });
    assert.equal(made.stdout, 'from outside');
    assert.equal((await send('GET', '/evil')).status, 403);
    assert.equal((await send('GET', '/root/etc/passwd')).status, 403);
    assert.equal((await send('PUT', '/root/tmp/x', 'x')).status, 403);
    assert.equal(await (await send('GET', '/good')).text(), 'from outside');
  });

  test('are refused for bad paths, low levels and foreign projects', async () => {
    assert.equal(await rawStatus('/%2e%2e/%2e%2e/state.db'), 403);
    assert.equal(await rawStatus('/../../../../state.db'), 403);
    assert.equal((await send('GET', '/..%2fx')).status, 403);
    assert.equal((await send('GET', '/a%00b')).status, 400);
    assert.equal((await send('PUT', '/', 'x')).status, 400);
    assert.equal((await send('GET', '/seen.txt', undefined, reader)).status, 403);
    assert.equal((await send('GET', '/seen.txt', undefined, outsider)).status, 404);
    assert.equal((await send('POST', '/seen.txt', 'x')).status, 405);
    assert.equal((await fetch(files('/seen.txt'))).status, 401);
  });

  test('blobs come back as they were sent, to their owner only', async () => {
    const sent = await fetch(`${server.url}/blobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${writer}`, 'content-type': 'image/png' },
      body: 'png',
    });
    const { blob_id, size, sha256 } = (await sent.json()) as any;
    assert.deepEqual([size, sha256.length], [3, 64]);
    const back = await fetch(`${server.url}/blobs/${blob_id}`, { headers: { authorization: `Bearer ${writer}` } });
    assert.deepEqual([await back.text(), back.headers.get('content-type')], ['png', 'image/png']);
    assert.equal(
      (await fetch(`${server.url}/blobs/${blob_id}`, { headers: { authorization: `Bearer ${outsider}` } })).status,
      404,
    );
    assert.equal(
      (await fetch(`${server.url}/blobs/..%2fstate.db`, { headers: { authorization: `Bearer ${writer}` } })).status,
      404,
    );
  });
});

describe('the event stream', () => {
  let session: any;
  before(async () => {
    session = await value('session_message', { project_id: project.id, message: '1 + 1' });
  });

  test('greets, replays, follows and numbers only stored events', async () => {
    const stream = await openStream(eventsUrl(session.session_id), reader);
    const hello = await stream.until((frame) => frame.event === 'hello');
    assert.deepEqual(Object.keys(hello.data), ['session_id', 'oldest', 'newest', 'ping_ms']);
    await stream.until((frame) => frame.event === 'status' && frame.data.status === 'idle');
    const stored = stream.frames.filter((frame) => frame.id !== undefined);
    assert.deepEqual(
      stored.map((frame) => frame.id),
      stored.map((_, index) => index),
    );
    for (const frame of stored) {
      assert.equal(frame.data.index, frame.id);
      assert.equal(frame.data.type, frame.event);
      assert.ok(Number.isInteger(frame.data.turn));
    }
    assert.equal(stored.find((frame) => frame.event === 'completion')!.data.text, '2');
    stream.close();
  });

  test('resumes by Last-Event-ID and by ?after=, and resets a cursor outside the log', async () => {
    for (const open of [
      () => openStream(eventsUrl(session.session_id), reader, { 'last-event-id': '2' }),
      () => openStream(eventsUrl(session.session_id, '?after=2'), reader),
      // What an EventSource that was opened with ?after= sends when it reconnects.
      () => openStream(eventsUrl(session.session_id, '?after=0'), reader, { 'last-event-id': '2' }),
    ]) {
      const stream = await open();
      await stream.until((frame) => frame.data.status === 'idle');
      assert.equal(stream.frames.find((frame) => frame.id !== undefined)!.id, 3);
      stream.close();
    }
    for (const after of ['9999', '99999999999999999999']) {
      const lost = await openStream(eventsUrl(session.session_id, `?after=${after}`), reader);
      await lost.until((frame) => frame.data.status === 'idle');
      assert.deepEqual(
        lost.frames.slice(0, 3).map((frame) => frame.event),
        ['hello', 'reset', 'status'],
      );
      assert.equal(lost.frames[2]!.id, 0);
      lost.close();
    }
    assert.equal(
      (await fetch(eventsUrl(session.session_id, '?after=abc'), { headers: { authorization: `Bearer ${reader}` } }))
        .status,
      400,
    );
  });

  test('is read as JSON when that is asked for', async () => {
    const response = await fetch(eventsUrl(session.session_id, '?after=1'), {
      headers: { authorization: `Bearer ${reader}`, accept: 'application/json' },
    });
    const body: any = await response.json();
    assert.deepEqual([body.session_id, body.events[0].index, body.has_more], [session.session_id, 2, false]);
    const { value: many } = await server.call('session_events', {
      session_id: session.session_id,
      max_events: 100_000,
    });
    assert.equal(many.events.length, body.last_index + 1);
  });

  test('is closed to strangers, and closes when its token is revoked or expires', async () => {
    assert.equal(
      (await fetch(eventsUrl(session.session_id), { headers: { authorization: `Bearer ${outsider}` } })).status,
      404,
    );
    assert.equal((await fetch(eventsUrl('ses_none'), { headers: { authorization: `Bearer ${reader}` } })).status, 404);
    const made = (await server.call('token_create', { name: 'gone', scope: 'read' })).value;
    const stream = await openStream(eventsUrl(session.session_id), made.token);
    await stream.until((frame) => frame.event === 'hello');
    await server.call('token_revoke', { token_id: made.id });
    await stream.closed;
    const brief = (await server.call('token_create', { name: 'brief', scope: 'read', ttl_seconds: 1 })).value;
    const short = await openStream(eventsUrl(session.session_id), brief.token);
    assert.equal(short.status, 200);
    await short.closed;
  });

  test('carries a caller tool request, announces it again on resume, and takes one answer', async () => {
    const caller = {
      caller_id: 'ant',
      caller_tools: [
        {
          name: 'send_response',
          description: 'Send',
          inputSchema: { type: 'object', properties: { message: { type: 'string' } } },
        },
      ],
    };
    const sent = await value('session_message', {
      session_id: session.session_id,
      message: 'ant_send_response(message="hi")',
      context: caller,
    });
    const stream = await openStream(eventsUrl(session.session_id, `?after=${sent.last_event_index}`), writer);
    const request = await stream.until((frame) => frame.event === 'caller_tool_request');
    assert.deepEqual([request.data.tool, request.data.arguments], ['send_response', { message: 'hi' }]);
    const again = await openStream(eventsUrl(session.session_id, `?after=${request.id}`), writer);
    const pending = await again.until((frame) => frame.event === 'ask_pending');
    assert.equal(pending.id, undefined);
    assert.equal(pending.data.request_id, request.data.request_id);
    const { request_id } = request.data;
    assert.equal(
      (await call('caller_tool_response', { session_id: session.session_id, request_id, result: 1 }, outsider)).status,
      404,
    );
    assert.deepEqual(
      await value('caller_tool_response', {
        session_id: session.session_id,
        request_id,
        result: { status: 'sent' },
        error: null,
      }),
      { request_id, accepted: true },
    );
    assert.equal(
      (await call('caller_tool_response', { session_id: session.session_id, request_id, result: 1 })).body.error.code,
      'ask.closed',
    );
    const done = await stream.until((frame) => frame.event === 'completion' && frame.data.turn === sent.turn);
    assert.deepEqual(JSON.parse(done.data.text), { status: 'sent' });
    stream.close();
    again.close();
  });

  test('ends the session and says so', async () => {
    const stream = await openStream(eventsUrl(session.session_id), reader);
    assert.deepEqual(await value('session_end', { session_id: session.session_id }), {
      id: session.session_id,
      status: 'ended',
    });
    await stream.until((frame) => frame.data.status === 'ended');
    assert.deepEqual(
      stream.frames.filter((frame) => frame.event === 'error'),
      [],
      'an end that was asked for is no failure',
    );
    const shown = await value('session_get', { session_id: session.session_id }, reader);
    assert.equal(shown.status, 'ended');
    assert.ok(!('relay_socket' in shown));
    stream.close();
    assert.deepEqual(await value('session_cleanup', { project_id: project.id, max_age_hours: 0 }), { deleted: 1 });
    assert.deepEqual(await value('project_delete', { project_id: project.id }), { id: project.id, deleted: true });
  });
});
