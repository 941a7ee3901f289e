import { fail } from '../schema/index.ts';
import type { Probe, SandboxDriver, SandboxLevel as Level } from '../sandbox/index.ts';

/** What a project asks of its sandbox, with the configuration's defaults filled in. */
export interface SandboxWish {
  driver: string;
  level: Level;
}

/** What it gets here and now. */
export interface SandboxChoice {
  driver: SandboxDriver;
  probe: Probe;
  level: Level;
}

const rank: Record<Level, number> = { basic: 0, strict: 1 };

/**
 * The driver for a wish: the named one, or with `auto` the most closed one there is, engines before bubblewrap.
 * Throws sandbox.unavailable with the reason when none can give the level; a wish for strict never gets less.
 */
export async function chooseSandbox(drivers: readonly SandboxDriver[], wish: SandboxWish): Promise<SandboxChoice> {
  const candidates = wish.driver === 'auto' ? drivers : drivers.filter((driver) => driver.name === wish.driver);
  const probes = await Promise.all(candidates.map((driver) => driver.probe()));
  let best: SandboxChoice | undefined;
  for (const [index, probe] of probes.entries()) {
    if (!probe.available || !probe.level || rank[probe.level] < rank[wish.level]) continue;
    if (!best || rank[probe.level] > rank[best.level]) best = { driver: candidates[index]!, probe, level: probe.level };
  }
  if (!best) throw fail('sandbox.unavailable', { reason: whyNone(probes, wish) });
  return best;
}

function whyNone(probes: readonly Probe[], wish: SandboxWish): string {
  if (probes.length === 0) return `there is no sandbox driver ${wish.driver}`;
  const reasons = probes.map((probe) =>
    probe.available
      ? `${probe.driver} gives only level ${probe.level}, without ${probe.missing.join(', ') || 'what strict demands'}`
      : `${probe.driver} is not available${probe.notes.length > 0 ? ` (${probe.notes.join('; ')})` : ''}`,
  );
  return `level ${wish.level} is asked for; ${reasons.join('; ')}`;
}
