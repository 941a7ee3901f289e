import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { egressDoor, modelDoor } from '../../src/doors/model/index.ts';
import { BodyRoom } from '../../src/doors/rest/index.ts';
import type { ProviderConfig, SessionEvent } from '../../src/schema/index.ts';
import { dialler } from '../../src/sources/http/index.ts';
import { until } from '../kit/until.ts';
import { admin, openRoom, owner, status, type Room } from './room.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const net = dialler({ settings: () => ({ allowedHosts: [] }) });
const model = 'tiny';
/** Short only where silence is what is tested: on a busy machine everybody is silent for a while. */
let silenceMs = 60_000;
const bodies = new BodyRoom(1024 * 1024);
let upstream: Server;
let seen: { url: string; headers: IncomingMessage['headers']; body: any }[] = [];
let script: (request: IncomingMessage, response: ServerResponse, body: any) => void;
let providers: Record<string, ProviderConfig>;
let room: Room;
let sessionId: string;
let folder: string;

before(async () => {
  upstream = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
    seen.push({ url: incoming.url!, headers: incoming.headers, body });
    script(incoming, response, body);
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  providers = {
    main: { shape: 'openai', baseUrl: `${base}/v1`, secret: 'KNOWN', prices: { [model]: { in: 1, out: 1000 } } },
  };
  room = await openRoom({
    providers,
    limits: { costUsd: 10 },
    doors: (sessions) => [
      modelDoor({
        sessions,
        secret: room?.ports.secret ?? (async () => 'secret-value'),
        dialler: net,
        readBody: (incoming, limit) => bodies.read(incoming, limit),
        log,
        get silenceMs() {
          return silenceMs;
        },
      }),
      egressDoor({
        egressOf: async (id) => (await room.projects.load(id))?.egress ?? [],
        log,
        resolve: async () => [{ address: '127.0.0.1' }, { address: '10.0.0.1' }],
      }),
    ],
  });
  await start({});
});
after(async () => {
  await room.close();
  await net.close();
  upstream.closeAllConnections();
  upstream.close();
});

async function start(more: { egress?: string[]; cost_usd?: number }): Promise<void> {
  const project = await room.projects.create(admin, `p${Math.random()}`, {
    sandbox: more.egress ? { egress: more.egress } : {},
    limits: more.cost_usd === undefined ? {} : { cost_usd: more.cost_usd },
    env: {},
    secrets: [],
  });
  const answer = await room.sessions.spawn(
    { ...owner, level: 'admin' },
    { project_id: project.id, message: 'say ready' },
  );
  sessionId = answer.session_id;
  await room.until(sessionId, status('idle'));
  folder = join(room.ports.runFolder, (await room.ports.tables.get(sessionId))!.place!, 'm');
}

interface Answer {
  status: number;
  text: string;
  json: any;
}
function post(path: string, body: unknown, method = 'POST', onFirstByte?: () => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const out = request(
      {
        socketPath: join(folder, 'model.sock'),
        path,
        method,
        headers: { authorization: 'Bearer of-the-agent', 'content-type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => {
          if (text === '') onFirstByte?.();
          text += chunk;
        });
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            text,
            json: text.startsWith('{') ? JSON.parse(text) : undefined,
          }),
        );
        response.on('error', reject);
      },
    );
    out.on('error', reject);
    out.end(typeof body === 'object' ? JSON.stringify(body) : body);
  });
}
const ask = (more: object = {}, onFirstByte?: () => void): Promise<Answer> => {
  const body = { model, max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], ...more };
  return post('/v1/chat/completions', body, 'POST', onFirstByte);
};
const usage = async (): Promise<SessionEvent[]> =>
  (await room.events(sessionId)).filter((event) => event.type === 'usage');
const json = (response: ServerResponse, value: object, code = 200): void =>
  void response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));

describe('the model door', () => {
  test('adds the key outside, forwards the request, and counts tokens and cost', async () => {
    seen = [];
    script = (_, response) => json(response, { choices: [], usage: { prompt_tokens: 1000, completion_tokens: 500 } });
    assert.equal((await ask()).status, 200);
    assert.equal(seen[0]!.url, '/v1/chat/completions');
    assert.equal(seen[0]!.headers.authorization, 'Bearer secret-value');
    const [event] = await usage();
    assert.ok(event?.type === 'usage');
    assert.deepEqual([event.input_tokens, event.output_tokens, event.cost_usd], [1000, 500, 0.501]);
    const row = await room.ports.tables.get(sessionId);
    assert.deepEqual([row!.input_tokens, row!.output_tokens, row!.cost_usd, row!.reserved_usd], [1000, 500, 0.501, 0]);
  });

  test('passes a stream on as it comes and counts what its last event says', async () => {
    let finish = (): void => {};
    script = (_, response, body) => {
      assert.deepEqual(body.stream_options, { include_usage: true });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n');
      finish = () =>
        response.end('data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}\n\ndata: [DONE]\n\n');
    };
    const before = (await usage()).length;
    // The provider says the rest only when the first piece has come through.
    const answer = await ask({ stream: true }, () => finish());
    assert.match(answer.text, /Hel[\s\S]*\[DONE\]/);
    const event = (await usage())[before];
    assert.deepEqual(event?.type === 'usage' && [event.input_tokens, event.output_tokens], [7, 3]);
  });

  test('allows nothing but inference paths', async () => {
    seen = [];
    for (const [method, path] of [
      ['GET', '/v1/files'],
      ['POST', '/v1/files'],
      ['DELETE', '/v1/models/x'],
      ['POST', '/v1/../admin'],
      ['GET', '/'],
      ['POST', '/v1/chat/completions/../../x'],
    ] as const) {
      const answer = await post(path, method === 'POST' ? {} : undefined, method);
      assert.equal(answer.status, 403, path);
      assert.ok(answer.json.error.message);
    }
    assert.equal(seen.length, 0);
  });

  test('refuses models without a price, bodies that are no object, and never sends them on', async () => {
    seen = [];
    assert.equal((await ask({ model: 'expensive' })).status, 403);
    assert.equal((await post('/v1/chat/completions', '[1]')).status, 400);
    assert.equal((await post('/v1/chat/completions', '{"model":')).status, 400);
    assert.equal(seen.length, 0);
  });

  test('passes an error of the provider on and charges nothing for it', async () => {
    script = (_, response) => json(response, { error: { message: 'overloaded' } }, 503);
    const before = (await room.ports.tables.get(sessionId))!.cost_usd;
    assert.equal((await ask()).status, 503);
    assert.equal((await room.ports.tables.get(sessionId))!.cost_usd, before);
  });

  test('ends a request whose provider stalls or breaks off, with an error in its shape', async () => {
    script = () => {};
    silenceMs = 500;
    const stalled = await ask();
    silenceMs = 60_000;
    assert.equal(stalled.status, 504);
    assert.equal(stalled.json.error.type, 'server_error');
    script = (_, response) => response.destroy();
    assert.equal((await ask()).status, 502);
    script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[]}\n\n');
    };
    silenceMs = 3000;
    await assert.rejects(ask({ stream: true }));
    silenceMs = 60_000;
    assert.equal((await room.ports.tables.get(sessionId))!.reserved_usd, 0);
  });

  test('survives a stream of garbage and does not let it go for free', async () => {
    script = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('\u0000\ufffd{]]]\ndata: {"usage":{"prompt_tokens":-5,"completion_tokens":"many"}}\n'.repeat(100));
    };
    const before = (await room.ports.tables.get(sessionId))!.cost_usd;
    assert.equal((await ask({ stream: true })).status, 200);
    assert.ok((await room.ports.tables.get(sessionId))!.cost_usd > before);
  });

  test('takes bodies only as far as there is room for all of them together', async () => {
    seen = [];
    script = (_, response) => json(response, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } });
    const path = '/v1/chat/completions';
    const slow = request({ socketPath: join(folder, 'model.sock'), path, method: 'POST' });
    slow.on('error', () => {});
    slow.write('x'.repeat(900_000));
    await until(() => bodies.usedBytes >= 900_000);
    const refused = await ask({ padding: 'x'.repeat(300_000) });
    assert.deepEqual([refused.status, refused.json.error.type], [503, 'server_error']);
    assert.match(refused.json.error.message, /again in 1 s/);
    assert.equal((await ask()).status, 200, 'what is small is always taken');
    slow.destroy();
    await until(() => bodies.usedBytes === 0);
    assert.equal((await ask({ padding: 'x'.repeat(300_000) })).status, 200);
    assert.equal(seen.length, 2);
  });

  test('answers a spent budget as the provider would, also when many ask at once', async () => {
    await start({ cost_usd: 0.25 });
    seen = [];
    script = (_, response) =>
      setTimeout(() => json(response, { usage: { prompt_tokens: 0, completion_tokens: 100 } }), 30);
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask()));
    assert.equal(answers.filter((each) => each.status === 200).length, 2);
    const refused = answers.find((each) => each.status !== 200)!;
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'insufficient_quota']);
    assert.match(refused.json.error.message, /0\.25 USD/);
    assert.equal(seen.length, 2);
    assert.ok(Math.abs((await room.ports.tables.get(sessionId))!.cost_usd - 0.2) < 1e-9);
  });

  test('speaks the shape of each provider', async () => {
    const main = providers['main']!;
    main.shape = 'anthropic';
    script = (_, response) =>
      json(response, { usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 1 } });
    await start({});
    seen = [];
    assert.equal((await post('/v1/messages', { model, max_tokens: 10, messages: [] })).status, 200);
    assert.deepEqual(
      [seen[0]!.url, seen[0]!.headers['x-api-key'], seen[0]!.headers.authorization],
      ['/v1/messages', 'secret-value', undefined],
    );
    assert.deepEqual(
      (await usage()).map((event) => event.type === 'usage' && event.input_tokens),
      [7],
    );
    assert.equal((await post('/v1/chat/completions', {})).json.type, 'error');
    main.shape = 'gemini';
    script = (_, response) =>
      json(response, { usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, thoughtsTokenCount: 1 } });
    assert.equal((await post(`/v1beta/models/${model}:generateContent?key=abc`, { contents: [] })).status, 200);
    assert.deepEqual(
      [seen[1]!.url, seen[1]!.headers['x-goog-api-key']],
      [`/v1/v1beta/models/${model}:generateContent`, 'secret-value'],
    );
    assert.equal((await post('/v1beta/files', {})).json.error.status, 'PERMISSION_DENIED');
    main.shape = 'openai';
  });

  test('is closed when no provider is configured', async () => {
    const main = providers['main']!;
    delete providers['main'];
    const answer = await ask();
    assert.equal(answer.status, 403);
    assert.match(answer.json.error.message, /providers/);
    providers['main'] = main;
  });
});

describe('the egress door', () => {
  const tunnel = (target: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(join(folder, 'egress.sock'));
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
        if (text.includes('200 Connection Established') && !text.includes('HTTP/1.1 404'))
          socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    });

  test('lets nothing out by default', async () => {
    assert.match(await tunnel('example.org:443'), /^HTTP\/1\.1 403/);
  });

  test('connects to listed hosts, decided on the address that is dialled', async () => {
    const port = (upstream.address() as AddressInfo).port;
    await start({ egress: ['listed.example', '127.0.0.1', 'other.example:1'] });
    script = (_, response) => json(response, { out: true }, 404);
    assert.match(await tunnel(`listed.example:${port}`), /200 Connection Established[\s\S]*"out":true/);
    assert.match(await tunnel(`127.0.0.1:${port}`), /200 Connection Established[\s\S]*"out":true/);
    assert.match(await tunnel('10.0.0.1:80'), /^HTTP\/1\.1 403/);
    assert.match(await tunnel(`other.example:${port}`), /^HTTP\/1\.1 403/);
    await start({ egress: ['listed.example'] });
    assert.match(await tunnel(`listed.example:${port}`), /^HTTP\/1\.1 403[\s\S]*no address/);
  });

  test('says of a listed host that it could not be reached, and of plain requests that only tunnels are possible', async () => {
    await start({ egress: ['127.0.0.1'] });
    assert.match(await tunnel('127.0.0.1:1'), /^HTTP\/1\.1 502[\s\S]*could not be reached/);
    const plain = request({ socketPath: join(folder, 'egress.sock'), path: 'http://127.0.0.1/', agent: false }).end();
    const [response] = await once(plain, 'response');
    response.resume();
    assert.deepEqual([response.statusCode, response.headers.allow], [405, 'CONNECT']);
  });

  test('refuses targets that are none', async () => {
    for (const target of ['x', 'a@b:1', 'h:99999', 'http://x:80', ':80'])
      assert.match(await tunnel(target), /^(HTTP\/1\.1 40[03]|$)/, target);
  });
});
