import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { keepEndedSessions } from '../kit/ended-sessions.ts';
import { root, startTestServer, type TestServer } from '../kit/running-server.ts';
import { until } from '../kit/until.ts';

let home: string;
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'oub-'));
});
after(() => rm(home, { recursive: true, force: true }));

const call = async (server: TestServer, name: string, args: object = {}): Promise<any> =>
  ((await (await server.fetch(`/call/${name}`, { method: 'POST', json: { args } })).json()) as { value: unknown })
    .value;
const kept = async (server: TestServer) => ({
  calls: (await call(server, 'audit_list', { tool: 'demo_foo' })).rows.length,
  sessions: (await call(server, 'session_list')).sessions.length,
});

test('old rows of the audit and finished sessions stay, until the configuration says how long', async () => {
  const old = await startTestServer({
    home,
    nodeFlags: ['--import', join(root, 'test', 'kit', 'jumping-clock.ts')],
    env: { CLOCK_AHEAD_DAYS: '-3' },
  });
  await call(old, 'demo_foo', { text: 'three days ago' });
  const project = await call(old, 'project_create', { name: 'one' });
  await old.stop();
  await keepEndedSessions(home, project.id, 2, new Date(Date.now() - 3 * 24 * 3600_000).toISOString());
  await keepEndedSessions(home, project.id, 1);

  const careless = await startTestServer({ home });
  await call(careless, 'demo_foo', { text: 'today' });
  assert.deepEqual(await kept(careless), { calls: 2, sessions: 3 });
  await careless.stop();

  await writeFile(join(home, 'config.yaml'), 'retention: { auditDays: 2, sessionDays: 2 }\n');
  const tidy = await startTestServer({ home });
  await until(async () => {
    const { calls, sessions } = await kept(tidy);
    return calls === 1 && sessions === 1;
  });
  assert.equal((await call(tidy, 'audit_verify')).ok, true);
  const { rows } = await call(tidy, 'audit_list', { tool: 'audit_prune' });
  assert.equal(rows.length, 1, 'that it was done is on record');
  await tidy.stop();
});
