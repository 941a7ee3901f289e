import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect, type Oubliette, type OublietteError } from '../../src/sdk.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { value } from '../kit/session.ts';

describe("the callers' library", () => {
  let server: TestServer;
  let oubliette: Oubliette;
  before(async () => {
    server = await testServer({ config: 'limits: { sessionsPerProject: 30 }\n' });
    const { token } = await value(server, 'token_create', { name: 'bot', scope: 'write' });
    oubliette = await connect({ url: server.url, token });
  });
  after(async () => {
    for (const { id, status } of (await value(server, 'session_list', {})).sessions)
      if (status !== 'ended') await value(server, 'session_end', { session_id: id });
    await server.remove();
  });

  it('lends a tool to an agent: the ten lines of the README', async () => {
    const sent: string[] = [];
    const project = await oubliette.project('chat-bot');
    const session = project.session({
      callerId: 'ant',
      tools: {
        send_response: {
          description: 'Send a message to the person in the chat',
          schema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
          run: ({ message }: { message: string }) => (sent.push(message), { status: 'sent' }),
        },
      },
    });
    const answer = await session.ask('ant_send_response(message="hello")["status"]');
    assert.deepEqual([sent, answer], [['hello'], 'sent']);
    assert.equal(await session.ask('6 * 7'), '42');
    await session.end();
  });

  it('finds a project by its name or makes it', async () => {
    const first = await oubliette.project({ name: 'named', description: 'x' });
    assert.equal((await oubliette.project('named')).id, first.id);
    await first.delete();
    assert.notEqual((await oubliette.project('named')).id, first.id);
  });

  it('answers each of several messages with its own turn, also when they wait for each other', async () => {
    const session = (await oubliette.project('queue')).session({
      callerId: 'ant',
      tools: { wait: { run: () => new Promise((resolve) => setTimeout(resolve, 300, 'waited')) } },
    });
    const [slow, quick] = [await session.send('ant_wait()'), await session.send('"quick"')];
    const broken = await session.send('1 / 0');
    assert.equal(await quick.text(), 'quick');
    assert.equal(await slow.text(), 'waited');
    assert.match(await broken.text(), /ZeroDivisionError/);
    const turns = new Set<number>();
    for await (const event of quick) turns.add(event.turn);
    assert.deepEqual([...turns], [quick.number]);
    await session.end();
  });

  it('begins one session, however many first messages are sent at once', async () => {
    const session = (await oubliette.project('at-once')).session();
    const [one, two] = await Promise.all([session.send('"one"'), session.send('"two"')]);
    assert.deepEqual([one.number, two.number], [1, 2]);
    assert.deepEqual([await one.text(), await two.text()], ['one', 'two']);
    await session.end();
  });

  it('reads on behind an end after which the session was resumed', async () => {
    const project = await oubliette.project('resumed');
    const first = project.session();
    await first.ask('1');
    await first.end();
    const again = oubliette.session(first.id!);
    assert.equal(await again.ask('2'), '2');
    const seen: string[] = [];
    for await (const event of again.events()) {
      seen.push(event.type === 'status' ? event.status : event.type);
      if (event.type === 'completion' && event.turn === 2) break;
    }
    assert.ok(seen.includes('ended') && seen.at(-1) === 'completion', seen.join());
    await again.end();
    const whole: string[] = [];
    for await (const event of oubliette.session(first.id!).events())
      whole.push(event.type === 'status' ? event.status : event.type);
    assert.equal(whole.filter((each) => each === 'ended').length, 2);
  });

  it('gives every event in order, once, also over cut connections', async () => {
    const project = await oubliette.project('events');
    let isCut = false;
    const flaky: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!String(input).includes('/events') || isCut) return response;
      isCut = true;
      let left = 3;
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          if (left-- === 0) return controller.error(new Error('cut'));
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body!.pipeThrough(cut), response);
    };
    const token = (await value(server, 'token_create', { name: 'flaky', scope: 'write' })).token;
    const bumpy = await connect({ url: server.url, token, fetch: flaky });
    const session = (await bumpy.project('events')).session();
    await session.send('for i in range(5):\n    print(i)\n"done"');
    const indexes: number[] = [];
    for await (const event of session.events()) {
      indexes.push(event.index);
      if (event.type === 'completion') break;
    }
    assert.deepEqual(
      indexes,
      indexes.map((_, i) => i),
    );
    assert.ok(isCut && indexes.length > 3);
    await session.end();
    assert.equal(project.info.name, 'events');
  });

  it('hands what a tool throws to the agent', async () => {
    const project = await oubliette.project('throws');
    const session = project.session({
      tools: { fails: { run: () => Promise.reject(new Error('recipient not found')) } },
    });
    const answer = await session.ask(
      'try:\n    x = caller_fails()\nexcept RuntimeError as e:\n    x = "caught: " + str(e)\nx',
    );
    assert.equal(answer, 'caught: recipient not found');
    await session.end();
  });

  it('tells the agent at once when an answer cannot be sent, and never lets it wait', async () => {
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const session = (await oubliette.project('unsendable')).session({
      tools: {
        circle: { run: () => loop },
        big: { run: () => 10n },
        huge: { run: () => 'x'.repeat(5_000_000) },
        mute: { run: () => Promise.reject(new Error('')) },
        nothing: { run: () => undefined },
      },
    });
    const caught = (name: string): string =>
      `try:\n    x = ["fine", caller_${name}()]\nexcept RuntimeError as e:\n    x = ["caught", str(e)]\nx`;
    const answers: Record<string, [string, unknown]> = {};
    for (const name of ['circle', 'big', 'huge', 'mute', 'nothing'])
      answers[name] = JSON.parse(await session.ask(caught(name)));
    assert.deepEqual(
      Object.entries(answers).map(([name, [how]]) => [name, how]),
      [
        ['circle', 'caught'],
        ['big', 'caught'],
        ['huge', 'caught'],
        ['mute', 'caught'],
        ['nothing', 'fine'],
      ],
    );
    assert.match(String(answers['circle']?.[1]), /circular/);
    assert.match(String(answers['big']?.[1]), /BigInt/);
    assert.match(String(answers['huge']?.[1]), /large/);
    await session.end();
  });

  it('iterates one turn and stops with it', async () => {
    const session = (await oubliette.project('turns')).session();
    const types: string[] = [];
    for await (const event of await session.send('1')) types.push(event.type);
    assert.equal(types.at(-1), 'completion');
    const second = await session.send('2');
    assert.equal(second.number, 2);
    assert.equal(await second.text(), '2');
    await session.end();
  });

  it('says so when a session is over before the turn is, also to messages that waited', async () => {
    const project = await oubliette.project('cut short');
    let isAsked = (): void => {};
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    const session = project.session({ tools: { wait: { run: () => (isAsked(), new Promise(() => {})) } } });
    const turns = [await session.send('caller_wait()'), await session.send('2')];
    const answers = turns.map((turn) => turn.text());
    const refused = answers.map((answer) =>
      assert.rejects(answer, (error: OublietteError) => error.code === 'session.state' && /ended/.test(error.message)),
    );
    await asked;
    await value(server, 'session_end', { session_id: session.id });
    await Promise.all(refused);
    const again = await session.send('3');
    assert.equal(await again.text(), '3');
    const closed = assert.rejects((await session.send('caller_wait()')).text(), /closed here/);
    session.close();
    await closed;
  });

  it('gives no event after its signal', async () => {
    const session = (await oubliette.project('signals')).session();
    await session.ask('1');
    const enough = new AbortController();
    const seen: number[] = [];
    for await (const event of session.events({ signal: enough.signal })) {
      seen.push(event.index);
      if (event.index === 1) enough.abort();
    }
    assert.deepEqual(seen, [0, 1]);
    await session.end();
  });

  it('has one kind of error, also for a server that is gone or is none', async () => {
    const other = createServer((_request, response) => void response.end('<html>'));
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const stranger = { name: 'OublietteError', code: 'source.unreachable', status: 0, retryable: true };
    await assert.rejects(connect({ url }), stranger);
    other.close();
    other.closeAllConnections();
    await assert.rejects(connect({ url }), stranger);
    const gone = await connect({
      url: server.url,
      token: server.token,
      fetch: (input, init) => fetch(String(input).endsWith('/demo_foo') ? url : input, init),
    });
    await assert.rejects(gone.call('demo_foo', { text: 'x' }), stranger);
    await assert.rejects(gone.call('nowhere'), (error: OublietteError) => !('cause' in error));
    const stopped = AbortSignal.abort(new Error('enough'));
    await assert.rejects(gone.call('project_list', {}, { signal: stopped }), /enough/);
  });

  it('names refusals by code', async () => {
    await assert.rejects(
      connect({ url: server.url, token: 'oub_wrong' }),
      (error: OublietteError) => error.code === 'auth.invalid' && error.status === 401,
    );
    await assert.rejects(
      connect({ url: 'http://127.0.0.1:9', token: 'x' }),
      (error: OublietteError) => error.code === 'source.unreachable',
    );
    await assert.rejects(
      oubliette.call('project_get', { project_id: 'proj_none' }),
      (error: OublietteError) => error.code === 'project.not_found',
    );
    await assert.rejects(
      oubliette.call('project_get', {}),
      (error: OublietteError) => error.details[0]?.path === '/args/project_id',
    );
    await assert.rejects(async () => (await oubliette.project('x')).session().cancel(), /Send a message first/);
  });
});
