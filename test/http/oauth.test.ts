import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { HttpImpl } from '../../src/schema/index.ts';
import { keptTokens } from '../../src/sources/http/index.ts';
import { hasCode, openBench, testServer, type Bench, type Seen, type TestServer } from './testbed.ts';

let api: TestServer;
let issuer: TestServer;
let bench: Bench;
let issued = 0;
let valid = '';
const grant = (_: Seen, response: Parameters<TestServer['answer']>[1], more: object = {}): void => {
  valid = `access-token-${++issued}`;
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ access_token: valid, token_type: 'bearer', expires_in: 3600, ...more }));
};

before(async () => {
  api = await testServer((request, response) =>
    response
      .writeHead(request.headers.authorization === `Bearer ${valid}` ? 200 : 401, {
        'content-type': 'application/json',
      })
      .end('"in"'),
  );
  issuer = await testServer();
});
after(async () => {
  api.close();
  issuer.close();
});
beforeEach(async () => {
  await bench?.close();
  bench = await openBench(['127.0.0.1']);
  await bench.secrets.set('CLIENT_SECRET', 'client-secret-1');
  await bench.secrets.set('REFRESH', 'refresh-token-1');
  issuer.answer = grant;
  issuer.seen.splice(0);
  api.seen.splice(0);
});
after(() => bench.close());

const request = (more: object = {}): HttpImpl['request'] => ({
  method: 'GET',
  urlTemplate: `${api.url}/`,
  auth: {
    type: 'oauth2',
    grant: 'client_credentials',
    tokenUrl: `${issuer.url}/token`,
    clientId: 'me',
    clientSecret: '${CLIENT_SECRET}',
    scope: 'a b',
    ...more,
  } as NonNullable<HttpImpl['request']['auth']>,
});

test('a token is asked for once and used by every call, however many come at once', async () => {
  const answers = await Promise.all(Array.from({ length: 30 }, () => bench.run(request())));
  assert.deepEqual(new Set(answers.map((each) => each.value)), new Set(['in']));
  assert.equal(issuer.seen.length, 1);
  const form = new URLSearchParams(issuer.seen[0]!.body);
  assert.deepEqual(Object.fromEntries(form), {
    grant_type: 'client_credentials',
    scope: 'a b',
    client_id: 'me',
    client_secret: 'client-secret-1',
  });
  assert.doesNotMatch(JSON.stringify(api.seen), /client-secret-1/);
});

test('a token that was revoked early is renewed once under load', async () => {
  await bench.run(request());
  valid = 'something else';
  issuer.seen.splice(0);
  const answers = await Promise.all(Array.from({ length: 20 }, () => bench.run(request())));
  assert.ok(answers.every((each) => each.value === 'in'));
  assert.equal(issuer.seen.length, 1);
});

test('a token that has run out is renewed, and an API that refuses even a new one is asked only twice', async () => {
  issuer.answer = (seen, response) => grant(seen, response, { expires_in: 0.001 });
  await bench.run(request());
  await new Promise((done) => setTimeout(done, 5));
  await bench.run(request());
  assert.equal(issuer.seen.length, 2);
  await new Promise((done) => setTimeout(done, 5));
  issuer.answer = (seen, response) => {
    grant(seen, response);
    valid = 'never this one';
  };
  api.seen.splice(0);
  await assert.rejects(bench.run(request()), hasCode('tool.failed', /401/));
  assert.ok(api.seen.length <= 2);
});

test('a server that wants the client as Basic gets it so', async () => {
  issuer.answer = (seen, response) =>
    seen.headers.authorization === `Basic ${Buffer.from('me:client-secret-1').toString('base64')}`
      ? grant(seen, response)
      : response.writeHead(401).end('{"error":"invalid_client"}');
  assert.equal((await bench.run(request())).value, 'in');
  assert.equal(issuer.seen.length, 2);
});

test('a refresh token that its server replaces is kept for the next time', async () => {
  const refresh = request({ grant: 'refresh_token', refreshToken: '${REFRESH}' });
  issuer.answer = (seen, response) => grant(seen, response, { refresh_token: 'refresh-token-2', expires_in: 0.001 });
  await bench.run(refresh);
  assert.equal(new URLSearchParams(issuer.seen[0]!.body).get('refresh_token'), 'refresh-token-1');
  assert.equal((await bench.secrets.get('REFRESH')).value, 'refresh-token-2');
  await new Promise((done) => setTimeout(done, 5));
  await bench.run(refresh);
  assert.equal(new URLSearchParams(issuer.seen[1]!.body).get('refresh_token'), 'refresh-token-2');
});

test('trouble with the token server is told and not remembered', async () => {
  const nonsense: [string, number, string, string][] = [
    ['no JSON', 200, 'hello', 'tool.failed'],
    ['no object', 200, '[]', 'tool.failed'],
    ['no token', 200, '{}', 'tool.failed'],
    ['token of another type', 200, '{"access_token":{"a":1}}', 'tool.failed'],
    ['token with a line break', 200, '{"access_token":"a\\r\\nX-Evil: 1"}', 'tool.failed'],
    ['empty token', 200, '{"access_token":""}', 'tool.failed'],
    ['refused', 400, '{"error":"invalid_grant"}', 'tool.failed'],
    ['down', 503, '', 'source.unreachable'],
    ['endless', 200, 'x'.repeat(1_000_000), 'response.too_large'],
  ];
  for (const [name, status, body, code] of nonsense) {
    issuer.answer = (_, response) => response.writeHead(status).end(body);
    await assert.rejects(bench.run(request()), hasCode(code), name);
  }
  assert.equal(api.seen.length, 0);
  for (const expires of ['soon', -5, null, 1e300, {}]) {
    await bench.secrets.set('CLIENT_SECRET', `client-secret-${String(JSON.stringify(expires))}`);
    issuer.answer = (seen, response) => grant(seen, response, { expires_in: expires });
    assert.equal((await bench.run(request())).value, 'in', JSON.stringify(expires));
  }
});

test('a token server that is silent ends at the deadline of the call', async () => {
  issuer.answer = () => {};
  await assert.rejects(bench.run({ ...request(), timeoutMs: 100 }), hasCode('tool.timeout'));
});

test('a client secret bound to another host is not sent to the token server', async () => {
  await bench.secrets.set('CLIENT_SECRET', 'client-secret-1', ['login.example.org']);
  await assert.rejects(bench.run(request()), hasCode('host.not_allowed', /CLIENT_SECRET/));
  assert.equal(issuer.seen.length, 0);
});

test('a token server that sends the client elsewhere does not get its secret there', async () => {
  const elsewhere = await testServer();
  issuer.answer = (_, response) => response.writeHead(307, { location: `${elsewhere.url}/token` }).end();
  await assert.rejects(bench.run(request()), hasCode('host.not_allowed'));
  assert.equal(elsewhere.seen.length, 0);
  elsewhere.close();
});

test('an access token that comes back in an answer is hidden', async () => {
  await bench.run(request());
  assert.equal(bench.redactor.text(`you sent ${valid}`), 'you sent [secret:access token]');
});

test("trouble at the token server that nobody waits for any longer is nobody's", async () => {
  const unheard: unknown[] = [];
  const hear = (reason: unknown): void => void unheard.push(reason);
  process.prependListener('unhandledRejection', hear);
  const answered = new Promise<void>((resolve) => {
    issuer.answer = (_, response) => response.writeHead(500).end(resolve);
  });
  const tokens = keptTokens(bench.dialler, bench.secrets, bench.redactor);
  const client = { grant: 'client_credentials', tokenUrl: issuer.url, clientId: 'a', clientSecret: 'b' } as const;
  const gone = new Error('gone');
  await assert.rejects(tokens.token(client, AbortSignal.abort(gone), {}), gone);
  await answered;
  // Another question, whose end comes after that of the first.
  const other = { ...client, clientId: 'c' };
  await assert.rejects(tokens.token(other, new AbortController().signal, {}), hasCode('source.unreachable'));
  await new Promise(setImmediate);
  process.off('unhandledRejection', hear);
  assert.deepEqual(unheard, []);
});
