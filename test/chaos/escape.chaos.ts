import { openTestDriver, testDrivers } from '../kit/sandboxes.ts';
import { outside } from '../sandbox/outside.ts';
import { fillIn, probes } from '../sandbox/probes.ts';
import type { Tally } from './run.ts';

export const about = 'every known way out of a sandbox, from inside, on every driver that this machine has';
export const full = 1;

export async function chaos(rounds: number): Promise<Tally> {
  const tally: Tally = { counted: { drivers: 0, probes: 0 }, violations: [] };
  const host = await outside();
  try {
    for (const name of await testDrivers()) {
      tally.counted['drivers']!++;
      const kit = await openTestDriver(name);
      try {
        const neighbour = await kit.spec();
        await kit.driver.start(neighbour);
        const { id } = await kit.driver.start(await kit.spec());
        for (let round = 0; round < rounds; round++)
          for (const probe of probes) {
            tally.counted['probes']!++;
            const command = ['/bin/sh', '-c', fillIn(probe, { ...host.fill, HOST_OTHER: neighbour.workspace })];
            const { stdout } = await kit.driver.exec(id, { command, timeoutMs: 20_000, maxBytes: 20_000 });
            if (stdout.trim() !== 'held') tally.violations.push(`${name}: ${probe.name}: ${stdout.trim()}`);
          }
        if (!host.isUnharmed()) tally.violations.push(`${name}: a process of the host was ended`);
      } finally {
        await kit.close();
      }
    }
  } finally {
    await host.close();
  }
  return tally;
}
