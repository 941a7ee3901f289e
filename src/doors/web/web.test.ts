import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startServer, type RunningServer } from '../../main.ts';

let home: string;
let server: RunningServer;
let admin: string;

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-web-'));
  server = await startServer({ home, port: 0, host: '127.0.0.1' });
  admin = (await readFile(join(home, 'admin.token'), 'utf8')).trim();
});
after(async () => {
  await server.close();
  await rm(home, { recursive: true, force: true });
});

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(server.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
const newCode = async (): Promise<string> => {
  const { signInUrl } = (await (await post('/auth/link', {}, { authorization: `Bearer ${admin}` })).json()) as {
    signInUrl: string;
  };
  return signInUrl.split('#code=')[1]!;
};
const signIn = async (): Promise<{ cookie: string; csrf: string }> => {
  const response = await post('/auth/signin', { code: await newCode() });
  const { csrf } = (await response.json()) as { csrf: string };
  return { cookie: response.headers.get('set-cookie')!.split(';')[0]!, csrf };
};
const list = (headers: Record<string, string>) => fetch(`${server.url}/tools/bundles`, { headers });

describe('signing in to the web app', () => {
  test('exchanges the code of the printed link once, for a cookie that scripts cannot read', async () => {
    const code = server.signInUrl.split('#code=')[1]!;
    assert.match(server.signInUrl, /\/app\/signin#code=/);
    const first = await post('/auth/signin', { code });
    assert.equal(first.status, 200);
    assert.match(first.headers.get('set-cookie')!, /HttpOnly; SameSite=Strict/);
    const again = await post('/auth/signin', { code });
    assert.equal(again.status, 401);
    assert.equal(((await again.json()) as any).error.code, 'auth.invalid');
  });

  test('gives one of two simultaneous uses of a code the sign-in', async () => {
    const code = await newCode();
    const statuses = await Promise.all([post('/auth/signin', { code }), post('/auth/signin', { code })]);
    assert.deepEqual(statuses.map(({ status }) => status).sort(), [200, 401]);
  });

  test('takes the cookie only together with its secret', async () => {
    const { cookie, csrf } = await signIn();
    const other = await signIn();
    assert.equal((await list({ cookie, 'x-oubliette-csrf': csrf })).status, 200);
    assert.equal((await list({ cookie })).status, 401);
    assert.equal((await list({ cookie, 'x-oubliette-csrf': other.csrf })).status, 401);
    assert.equal((await list({ 'x-oubliette-csrf': csrf })).status, 401);
  });

  test('refuses a foreign origin although cookie and secret are right', async () => {
    const { cookie, csrf } = await signIn();
    assert.equal((await list({ cookie, 'x-oubliette-csrf': csrf, origin: 'https://evil.example' })).status, 403);
  });

  test('ends with sign-out', async () => {
    const { cookie, csrf } = await signIn();
    // Another page on the same host has the cookie, but not what goes with it.
    assert.equal((await post('/auth/signout', {}, { cookie })).status, 401);
    assert.equal((await list({ cookie, 'x-oubliette-csrf': csrf })).status, 200);
    assert.equal((await post('/auth/signout', {}, { cookie, 'x-oubliette-csrf': csrf })).status, 204);
    assert.equal((await list({ cookie, 'x-oubliette-csrf': csrf })).status, 401);
  });

  test('acts with the level of the token it was made from, and ends with it', async () => {
    const auth = { authorization: `Bearer ${admin}` };
    const made = await (await post('/call/token_create', { args: { name: 'looker', scope: 'read' } }, auth)).json();
    const { token, id } = (made as any).value;
    const response = await post('/auth/signin', { token });
    const who = (await response.json()) as { csrf: string; level: string; name: string };
    assert.deepEqual([who.level, who.name], ['read', 'looker']);
    const headers = { cookie: response.headers.get('set-cookie')!.split(';')[0]!, 'x-oubliette-csrf': who.csrf };
    assert.equal((await list(headers)).status, 200);
    assert.equal((await post('/call/token_list', { args: {} }, headers)).status, 403);
    await post('/call/token_revoke', { args: { token_id: id } }, auth);
    assert.equal((await list(headers)).status, 401);
  });

  test('refuses a body without code and token, or with both', async () => {
    for (const body of [{}, { code: 'a', token: 'b' }, { code: 1 }, [], { pin: 'x' }])
      assert.equal((await post('/auth/signin', body)).status, 400, JSON.stringify(body));
    assert.equal((await post('/auth/signin', { code: 'unknown' })).status, 401);
  });

  test('says who a browser or a token is, and that nobody may keep it', async () => {
    const { cookie, csrf } = await signIn();
    const as = (headers: Record<string, string>) => fetch(`${server.url}/auth/session`, { headers });
    const browser = await as({ cookie, 'x-oubliette-csrf': csrf });
    assert.equal(browser.headers.get('cache-control'), 'no-store');
    const { expires_at, version, ...who } = (await browser.json()) as Record<string, string>;
    assert.deepEqual(who, { level: 'admin', name: 'local admin' });
    const days = (Date.parse(expires_at!) - Date.now()) / 86_400_000;
    assert.ok(days > 13.9 && days <= 14, String(days));
    assert.equal((await as({ cookie })).status, 401);
    assert.equal((await as({})).status, 401);
    const token = (await (await as({ authorization: `Bearer ${admin}` })).json()) as Record<string, string>;
    assert.deepEqual(token, { level: 'admin', name: 'local admin', version, expires_at: '' });
  });

  test('sends the cookie over https alone where that is how the page is reached', async () => {
    assert.doesNotMatch((await post('/auth/signin', { token: admin })).headers.get('set-cookie')!, /Secure/);
    const other = await mkdtemp(join(tmpdir(), 'oub-web-'));
    await writeFile(join(other, 'config.yaml'), 'http: { publicUrl: "https://tools.example.com" }\n');
    const safe = await startServer({ home: other, port: 0, host: '127.0.0.1' });
    try {
      const token = (await readFile(join(other, 'admin.token'), 'utf8')).trim();
      const body = JSON.stringify({ token });
      const headers = { 'content-type': 'application/json' };
      const { port } = JSON.parse(await readFile(join(other, 'server.json'), 'utf8')) as { port: number };
      const answer = await fetch(`http://127.0.0.1:${port}/auth/signin`, { method: 'POST', body, headers });
      assert.match(answer.headers.get('set-cookie')!, /; Secure/);
      assert.match(safe.signInUrl, /^https:\/\/tools\.example\.com\/app\/signin#code=/);
    } finally {
      await safe.close();
      await rm(other, { recursive: true, force: true });
    }
  });

  test('makes links only for admins', async () => {
    assert.equal((await post('/auth/link', {})).status, 401);
    const auth = { authorization: `Bearer ${admin}` };
    for (const scope of ['read', 'write']) {
      const made = await post('/call/token_create', { args: { name: scope, scope } }, auth);
      const { value } = (await made.json()) as { value: { token: string } };
      const refused = await post('/auth/link', {}, { authorization: `Bearer ${value.token}` });
      assert.equal(refused.status, 403, scope);
    }
  });
});

describe('the page', () => {
  test('is served with a policy that forbids inline script', async () => {
    const response = await fetch(`${server.url}/app/tools/anything`);
    if (response.status === 404) return assert.match(await response.text(), /npm run build/);
    const policy = response.headers.get('content-security-policy')!;
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(await response.text(), /<div id="root">/);
  });

  test('says of a part that is not there that it is not there', async () => {
    const response = await fetch(`${server.url}/app/assets/gone-12345678.js`);
    assert.equal(response.status, 404);
    assert.doesNotMatch(response.headers.get('cache-control') ?? '', /immutable/);
  });

  test('is where a browser that asks for nothing is led to', async () => {
    const asked = (accept: string) => fetch(`${server.url}/`, { redirect: 'manual', headers: { accept } });
    const led = await asked('text/html,*/*');
    assert.deepEqual([led.status, led.headers.get('location')], [302, '/app/']);
    assert.equal((await asked('application/json')).status, 404);
  });

  test('never leaves its folder', async () => {
    const { port } = new URL(server.url);
    for (const path of [
      '/app/../package.json',
      '/app/%2e%2e/package.json',
      '/app/assets/..%2f..%2f..%2fpackage.json',
    ]) {
      const text = await raw(Number(port), path);
      assert.doesNotMatch(text, /"devDependencies"/, path);
    }
  });
});

describe('GET /events', () => {
  test('says hello, then that the catalog changed', async () => {
    const { cookie, csrf } = await signIn();
    const stop = new AbortController();
    const response = await fetch(`${server.url}/events?topics=catalog`, {
      headers: { cookie, 'x-oubliette-csrf': csrf },
      signal: stop.signal,
    });
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? '';
    assert.match(text, /^event: hello\ndata: \{"topics":\["catalog"\],"ping_ms":\d+\}/);
    await fetch(`${server.url}/tools/bundles/0198c0de-0000-7000-8000-000000000001`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ slug: 'news', displayName: 'News', isEnabled: true }),
    });
    while (!text.includes('event: catalog')) text += (await reader.read()).value ?? '';
    stop.abort();
  });

  test('closes when the token is revoked', async () => {
    const auth = { authorization: `Bearer ${admin}` };
    const made = (await (
      await post('/call/token_create', { args: { name: 'short', scope: 'read' } }, auth)
    ).json()) as any;
    const response = await fetch(`${server.url}/events`, { headers: { authorization: `Bearer ${made.value.token}` } });
    const reader = response.body!.getReader();
    await reader.read();
    await post('/call/token_revoke', { args: { token_id: made.value.id } }, auth);
    for (let done = false; !done;) ({ done } = await reader.read());
  });

  test('refuses topics it does not have, and strangers', async () => {
    assert.equal(
      (await fetch(`${server.url}/events?topics=weather`, { headers: { authorization: `Bearer ${admin}` } })).status,
      400,
    );
    assert.equal((await fetch(`${server.url}/events`)).status, 401);
  });
});

function raw(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    httpRequest({ port, host: '127.0.0.1', path }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}
