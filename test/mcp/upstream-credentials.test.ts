import { afterEach, test } from 'node:test';
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { ServerConfig } from '../../src/schema/index.ts';
import { wayOut } from '../../src/sources/mcp/index.ts';
import type { ServerStatus } from '../../src/sources/mcp/servers.ts';
import { openBench } from '../http/testbed.ts';
import { until } from '../kit/until.ts';
import { oldServer, type OldServer, type OldServerOptions } from './old-http-server.ts';
import { closeServers, openServers, run } from './upstream-bench.ts';

const opened: (() => unknown)[] = [];
afterEach(async () => {
  await closeServers();
  for (const close of opened.splice(0)) await close();
});

async function upstream(options?: OldServerOptions): Promise<OldServer> {
  const server = await oldServer(options);
  opened.push(() => server.close());
  return server;
}

/** The servers of a configuration behind the real way out, with these secrets and their hosts. */
async function connect(
  config: ServerConfig,
  allowedHosts: string[],
  secrets: Record<string, [value: string, hosts?: string[]]>,
) {
  const bench = await openBench(allowedHosts);
  opened.push(() => bench.close());
  for (const [name, [value, hosts]] of Object.entries(secrets)) await bench.secrets.set(name, value, hosts);
  const { servers } = await openServers({ mine: config }, wayOut(bench));
  const seen = (isIt: (status: ServerStatus) => boolean): Promise<ServerStatus> =>
    until(async () => (await servers.status()).find(isIt));
  return { servers, bench, seen };
}

const isConnected = ({ status, tools }: ServerStatus): boolean => status === 'connected' && tools > 0;

function json(outgoing: ServerResponse, status: number, value: object): true {
  outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  return true;
}

function redirect(outgoing: ServerResponse, location: string): true {
  outgoing.writeHead(307, { location }).end();
  return true;
}

test('a client secret does not follow a redirect of the token server', async () => {
  const other = await upstream({ before: (_, outgoing) => json(outgoing, 200, { access_token: 'not-ours' }) });
  const guard = await upstream({ before: (_, outgoing) => redirect(outgoing, `${other.origin}/token`) });
  const oauth = { tokenUrl: `${guard.origin}/token`, clientId: 'me', clientSecret: '${CLIENT}' };
  const config = { url: guard.url, oauth };
  const { seen } = await connect(config, [new URL(other.url).host], { CLIENT: ['secret-of-the-client'] });
  const { error } = await seen(({ status }) => status === 'disconnected');
  assert.match(error ?? '', /the body carries a secret that may not follow/);
  assert.deepEqual(other.seen, []);
});

test('a secret that is bound to a host is sent to no server at another one', async () => {
  const first = await upstream();
  const config = { url: first.url, headers: { 'X-Api-Key': '${BOUND}' } };
  const { seen } = await connect(config, [], { BOUND: ['for-example-com-only', ['api.example.com']] });
  const { error } = await seen(({ status }) => status === 'disconnected');
  assert.match(error ?? '', /^Secret BOUND may be sent only to api\.example\.com, not to 127\.0\.0\.1:\d+\.$/);
  assert.deepEqual(first.seen, []);
});

test('a refresh token that its server replaces is kept, also over a new connection, and no token is told', async () => {
  let valid = 'refresh-token-0';
  let issued = 0;
  const guard = await upstream({
    before(incoming, outgoing, body) {
      if (incoming.url !== '/token')
        return incoming.headers.authorization !== `Bearer access-token-${issued}` && json(outgoing, 401, {});
      if (new URLSearchParams(body).get('refresh_token') !== valid)
        return json(outgoing, 400, { error: 'invalid_grant' });
      valid = `refresh-token-${++issued}`;
      return json(outgoing, 200, { access_token: `access-token-${issued}`, refresh_token: valid, expires_in: 3600 });
    },
  });
  const config = {
    url: guard.url,
    oauth: { tokenUrl: `${guard.origin}/token`, clientId: 'me', refreshToken: '${REFRESH}' },
  };
  const { servers, bench, seen } = await connect(config, [], { REFRESH: ['refresh-token-0'] });
  await seen(isConnected);
  await servers.byName('mine')?.reconnect();
  // The token in use is not good any more: the next call has to ask for another one.
  issued += 100;
  assert.equal((await run(servers, 'mine', 'hi')).value, 'hi');
  assert.equal((await bench.secrets.get('REFRESH')).value, valid);
  assert.equal(bench.redactor.text(`access-token-${issued} ${valid}`).includes('token-1'), false);
});
