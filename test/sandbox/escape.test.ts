import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openTestDriver, testDrivers, type TestDriver } from '../kit/sandboxes.ts';
import { outside } from './outside.ts';
import { fillIn, probes } from './probes.ts';

// Awaited before the first test: what follows a test must not wait.
const host = await outside();
const drivers = await testDrivers();
after(() => host.close());

test('there are at least 25 probes', () => assert.ok(probes.length >= 25));

for (const name of drivers)
  describe(`from inside a ${name} sandbox an agent`, () => {
    let kit: TestDriver;
    let id: string;
    let other: string;

    before(async () => {
      kit = await openTestDriver(name);
      const neighbour = await kit.spec();
      other = neighbour.workspace;
      await kit.driver.start(neighbour);
      id = (await kit.driver.start(await kit.spec({ level: 'strict' }))).id;
    });
    after(() => kit.close());

    for (const probe of probes)
      test(probe.name, async () => {
        const command = ['/bin/sh', '-c', fillIn(probe, { ...host.fill, HOST_OTHER: other })];
        const { stdout, stderr } = await kit.driver.exec(id, { command, timeoutMs: 60_000, maxBytes: 20_000 });
        assert.equal(stdout.trim(), 'held', stderr);
      });

    test('leaves the processes of the host alone', () => assert.ok(host.isUnharmed()));
  });
