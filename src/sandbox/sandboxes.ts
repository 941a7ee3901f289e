import { fail } from '../schema/index.ts';
import { bubblewrapDriver } from './bubblewrap/bubblewrap.ts';
import type { DriverName, Probe, SandboxDriver, SandboxLevel } from './driver.ts';
import { engineDriver } from './engine/engine.ts';

export interface Sandboxes {
  /** All drivers, the most wanted first. */
  readonly drivers: readonly SandboxDriver[];
  byName(name: DriverName): SandboxDriver;
  probes(fresh?: boolean): Promise<Probe[]>;
  /**
   * The driver for a project: the one asked for, or with `auto` the most closed one that is there. `docker` is also
   * satisfied by podman. Fails with sandbox.unavailable, saying what each driver lacks.
   */
  choose(wanted: {
    driver?: 'auto' | DriverName;
    level: SandboxLevel;
    image?: string;
  }): Promise<{ driver: SandboxDriver; probe: Probe }>;
  close(): Promise<void>;
}

export interface SandboxesOptions {
  /** Folder for what drivers keep, private to us: `<home>/run/sandbox`. */
  folder: string;
  /** Engine sockets instead of the usual places. */
  sockets?: { docker?: string[]; podman?: string[] };
}

export function openSandboxes({ folder, sockets = {} }: SandboxesOptions): Sandboxes {
  const drivers: SandboxDriver[] = [
    engineDriver({ name: 'docker', folder, ...(sockets.docker ? { sockets: sockets.docker } : {}) }),
    engineDriver({ name: 'podman', folder, ...(sockets.podman ? { sockets: sockets.podman } : {}) }),
    bubblewrapDriver({ folder }),
  ];
  const satisfies = (name: DriverName, wanted: 'auto' | DriverName): boolean =>
    wanted === 'auto' || name === wanted || (wanted === 'docker' && name === 'podman');

  return {
    drivers,
    byName: (name) => drivers.find((driver) => driver.name === name)!,
    probes: (fresh) => Promise.all(drivers.map((driver) => driver.probe(fresh))),
    async choose({ driver: wanted = 'auto', level, image }) {
      const candidates = drivers.filter(({ name }) => satisfies(name, wanted));
      const found = await Promise.all(
        candidates.map(async (driver) => {
          const probe = await driver.probe();
          const hasImage =
            image === undefined || (probe.available && (await driver.hasImage(image).catch(() => false)));
          return { driver, probe, hasImage };
        }),
      );
      const closed = found.filter(({ probe }) => probe.available && (level === 'basic' || probe.level === 'strict'));
      // The base is made when it is needed; an image of someone's own is not.
      const usable = closed.filter(({ hasImage }) => hasImage);
      const best = usable.find(({ probe }) => probe.level === 'strict') ?? usable[0];
      if (best) return best;
      if (closed.length > 0)
        throw fail('sandbox.unavailable', {
          reason: `there is no image ${image}; build it with: oubliette project image`,
        });
      const reasons = found.map(
        ({ probe }) =>
          `${probe.driver}: ${probe.available ? `lacks ${probe.missing.join(', ')}` : probe.notes.join(' ')}`,
      );
      throw fail('sandbox.unavailable', { reason: `${reasons.join('; ')}. Run: oubliette doctor` });
    },
    close: async () => void (await Promise.all(drivers.map((driver) => driver.close()))),
  };
}
