import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { engineDriver, openSandboxes, type SandboxDriver } from '../../src/sandbox/index.ts';
import { openTestDriver, testDrivers, type TestDriver } from '../kit/sandboxes.ts';

const drivers = (await testDrivers()).filter((name) => name !== 'bubblewrap');
const root = await mkdtemp(join(tmpdir(), 'oub-trouble-'));
after(() => rm(root, { recursive: true, force: true }));

for (const name of drivers)
  describe(`${name} in trouble`, () => {
    let kit: TestDriver;
    let driver: SandboxDriver;
    before(async () => {
      kit = await openTestDriver(name);
      driver = kit.driver;
      await driver.buildBase();
    });
    after(() => kit.close());

    test('an engine that is restarted is spoken to again, without a new driver', async () => {
      const spec = await kit.spec();
      await driver.start(spec);
      const waiting = driver.wait(spec.id);
      await kit.engine!.restart();
      const probe = await driver.probe(true);
      assert.equal(probe.available, true);
      assert.equal(
        (await driver.exec(spec.id, { command: ['/bin/echo', 'still here'], timeoutMs: 60_000, maxBytes: 100 })).stdout,
        'still here\n',
      );
      for (const sandbox of await driver.list({ test: spec.id })) await driver.remove(sandbox.id);
      assert.ok('exitCode' in (await waiting));
      const next = await kit.spec();
      assert.equal((await driver.start(next)).status, 'running');
      await driver.remove(next.id);
    });
  });

/** Something that answers on a socket, but is not the engine one hopes for. */
async function pretend(
  t: TestContext,
  answer: (path: string) => { status?: number; body: unknown } | undefined,
): Promise<string> {
  const socket = join(root, `${Math.random().toString(36).slice(2)}.sock`);
  const server: Server = createServer((request, response) => {
    const said = answer(request.url ?? '');
    if (!said) return;
    response.statusCode = said.status ?? 200;
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body));
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return socket;
}

test('no engine at all is a sentence, not a crash', async () => {
  const driver = engineDriver({ name: 'docker', sockets: [join(root, 'nobody.sock')], folder: root });
  const probe = await driver.probe();
  assert.equal(probe.available, false);
  assert.match(probe.notes.join(), /no engine answers at .*nobody\.sock/);
  await assert.rejects(driver.list(), { code: 'sandbox.unavailable' });
  await driver.close();
});

test('an engine that is too old, too new, or no engine, is told apart', async (t) => {
  const old = await pretend(t, () => ({ body: { ApiVersion: '1.24', MinAPIVersion: '1.12', Version: '1.12.0' } }));
  const web = await pretend(t, () => ({ body: '<html>hello</html>' }));
  const asked: string[] = [];
  const future = await pretend(t, (path) => {
    asked.push(path);
    return {
      body:
        path === '/version'
          ? { ApiVersion: '1.99', MinAPIVersion: '1.60', Version: '99' }
          : { SecurityOptions: ['name=seccomp'], MemoryLimit: true, PidsLimit: false },
    };
  });
  const probe = async (socket: string): ReturnType<SandboxDriver['probe']> => {
    const driver = engineDriver({ name: 'docker', sockets: [socket], folder: root });
    t.after(() => driver.close());
    return driver.probe();
  };
  assert.match((await probe(old)).notes.join(), /speaks API 1\.24; 1\.40 or newer is needed/);
  assert.equal((await probe(web)).available, false);
  const found = await probe(future);
  assert.deepEqual([found.available, found.level, found.missing], [true, 'basic', ['pids limit']]);
  assert.ok(asked.includes('/v1.60/info'));
});

test('a project that asks for strict never gets less', async (t) => {
  const weak = await pretend(t, (path) => ({
    body: path === '/version' ? { ApiVersion: '1.41', Version: '20' } : { SecurityOptions: [] },
  }));
  const driver = engineDriver({ name: 'docker', sockets: [weak], folder: root });
  t.after(() => driver.close());
  const folders = { workspace: join(root, 'w'), mcp: join(root, 'm'), spool: join(root, 's') };
  const spec = {
    id: 'box_x',
    labels: {},
    ...folders,
    env: {},
    limits: { memoryMb: 64, pids: 16, cpus: 1 },
    level: 'strict' as const,
  };
  await assert.rejects(driver.start(spec), {
    code: 'sandbox.unavailable',
    message: /lacks what level strict asks for: seccomp/,
  });
  const rooms = openSandboxes({ folder: root, sockets: { docker: [weak], podman: [] } });
  t.after(() => rooms.close());
  await assert.rejects(rooms.choose({ driver: 'docker', level: 'strict' }), {
    code: 'sandbox.unavailable',
    message: /docker: lacks seccomp; podman: /,
  });
  assert.equal((await rooms.choose({ driver: 'docker', level: 'basic' })).probe.level, 'basic');
});

test('a refusal of the engine carries its own words', async (t) => {
  const socket = await pretend(t, (path) => {
    if (path === '/version') return { body: { ApiVersion: '1.41', Version: '20' } };
    if (path.endsWith('/info')) return { body: { SecurityOptions: ['seccomp'] } };
    return { status: 500, body: { message: 'no space left on device' } };
  });
  const driver = engineDriver({ name: 'docker', sockets: [socket], folder: root });
  t.after(() => driver.close());
  await assert.rejects(driver.list(), { code: 'sandbox.failed', message: /no space left on device/, retryable: true });
});
