import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openTestDriver, testDrivers, type TestDriver } from '../kit/sandboxes.ts';
import { probes } from './probes.ts';

const canary = `canary${process.pid}`;
process.env['OUBLIETTE_TEST_CANARY'] = canary;
const outside = await mkdtemp(join(tmpdir(), 'oub-outside-'));
const secret = join(outside, 'secret');
await writeFile(secret, canary);
const victim = spawn('/bin/sleep', ['600'], { stdio: 'ignore', env: { CANARY: canary } });
const tcp = await listening(createServer().listen(0, '127.0.0.1'));
const abstract = `oub-probe-${process.pid}`;
const hidden = await listening(createServer().listen(`\0${abstract}`));
// Awaited before the first test: what follows a test must not wait.
const drivers = await testDrivers();

after(async () => {
  victim.kill('SIGKILL');
  tcp.close();
  hidden.close();
  await rm(outside, { recursive: true, force: true });
});

async function listening(server: Server): Promise<Server> {
  await once(server, 'listening');
  return server;
}

test('there are at least 25 probes', () => assert.ok(probes.length >= 25));

for (const name of drivers)
  describe(`from inside a ${name} sandbox an agent`, () => {
    let kit: TestDriver;
    let id: string;
    const fill: Record<string, string> = {
      HOST_SECRET: secret,
      HOST_CANARY: canary,
      HOST_PID: String(victim.pid),
      HOST_ABSTRACT: abstract,
      HOST_PORT: String((tcp.address() as AddressInfo).port),
    };

    before(async () => {
      kit = await openTestDriver(name);
      const other = await kit.spec();
      fill['HOST_OTHER'] = other.workspace;
      await kit.driver.start(other);
      const spec = await kit.spec({ level: 'strict' });
      id = (await kit.driver.start(spec)).id;
    });
    after(() => kit.close());

    for (const probe of probes)
      test(probe.name, async () => {
        const script = probe.script.replace(/\$(HOST_\w+)/g, (_, key: string) => fill[key]!);
        const { stdout, stderr } = await kit.driver.exec(id, {
          command: ['/bin/sh', '-c', script],
          timeoutMs: 20_000,
          maxBytes: 20_000,
        });
        assert.equal(stdout.trim(), 'held', stderr);
      });

    test('leaves the processes of the host alone', () => assert.equal(victim.exitCode ?? victim.signalCode, null));
  });
