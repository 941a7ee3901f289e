import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { before, describe, test } from 'node:test';
import { until } from '../kit/until.ts';
import { openRestPlace } from './rest-place.ts';
import { openStream } from './sse.ts';

const { server, project, writer, reader, outsider, call, value } = await openRestPlace();
const eventsUrl = (id: string, query = ''): string => `${server.url}/sessions/${id}/events${query}`;

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
      () => openStream(eventsUrl(session.session_id, '?after=2'), reader, { 'last-event-id': '' }),
      // What an EventSource that was opened with ?after= sends when it reconnects.
      () => openStream(eventsUrl(session.session_id, '?after=0'), reader, { 'last-event-id': '2' }),
    ]) {
      const stream = await open();
      await stream.until((frame) => frame.data.status === 'idle');
      assert.equal(stream.frames.find((frame) => frame.id !== undefined)!.id, 3);
      stream.close();
    }
    for (const [query, header] of [
      ['?after=9999', ''],
      ['?after=99999999999999999999', ''],
      ['', 'no index'],
    ] as const) {
      const lost = await openStream(eventsUrl(session.session_id, query), reader, {
        accept: 'application/json, text/event-stream',
        'last-event-id': header,
      });
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
    const some = async (query: string): Promise<any> => {
      const headers = { authorization: `Bearer ${reader}`, accept: 'application/json' };
      return (await fetch(eventsUrl(session.session_id, query), { headers })).json();
    };
    const one = await some('?max_events=1');
    assert.deepEqual([one.events.length, one.last_index, one.has_more], [1, 0, true]);
    for (const wrong of ['0', '-1', '1.5', 'x', ''])
      assert.equal((await some(`?max_events=${wrong}`)).error?.code, 'request.invalid', wrong);
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
    for (const query of ['', '?after=abc', '?max_events=0'])
      assert.equal(
        (await fetch(eventsUrl('ses_none', query), { headers: { authorization: `Bearer ${reader}` } })).status,
        404,
        query,
      );
    const made = (await server.call('token_create', { name: 'gone', scope: 'read' })).value;
    const stream = await openStream(eventsUrl(session.session_id), made.token);
    await stream.until((frame) => frame.event === 'hello');
    await server.call('token_revoke', { token_id: made.id });
    await stream.closed;
    const brief = (await server.call('token_create', { name: 'brief', scope: 'read', ttl_seconds: 3 })).value;
    const short = await openStream(eventsUrl(session.session_id), brief.token);
    assert.equal(short.status, 200);
    await short.closed;
  });

  test('is cut off, not waited for, when its token is revoked and its reader does not read', async () => {
    const { session_id } = await value('session_spawn', { project_id: project.id, message: '1' });
    // More than the system's own buffers take, so that words lie unsent in ours.
    const long = `1 # ${'x'.repeat(1_000_000)}`;
    let last = 1;
    for (let i = 0; i < 12; i++) last = (await value('session_message', { session_id, message: long })).turn;
    const isIdle = async (): Promise<boolean> => {
      const { status, turn } = (await server.call('session_get', { session_id })).value;
      return status === 'idle' && turn === last;
    };
    await until(isIdle);
    const made = (await server.call('token_create', { name: 'mute', scope: 'read' })).value;
    const asked = request(eventsUrl(session_id), { headers: { authorization: `Bearer ${made.token}` } });
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
    answer.pause();
    const other = await openStream(eventsUrl(session_id), reader);
    await other.until(({ data }) => data.type === 'completion' && data.turn === last);
    other.close();
    await server.call('token_revoke', { token_id: made.id });
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
    await assert.rejects(once(answer, 'end'), /aborted/);
    assert.ok(bytes < 12_000_000, `${bytes} bytes came after all`);
    await server.call('session_end', { session_id });
    await value('session_cleanup', { project_id: project.id, max_age_hours: 0 });
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
