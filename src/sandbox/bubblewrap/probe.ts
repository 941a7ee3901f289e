import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { baseFolder, type BasePlan } from '../base/index.ts';
import type { Probe } from '../driver.ts';
import { findCgroups, type Cgroups } from './cgroups.ts';
import { seccompFilter } from './seccomp.ts';

const run = promisify(execFile);

/** What bubblewrap can do on this machine. */
export interface Abilities {
  probe: Probe;
  program: string;
  cgroups?: Cgroups;
  canForbidUserNamespaces: boolean;
  hasSetpriv: boolean;
}

/** Looks for bubblewrap and tries it; the answer says what is missing of level strict. Never throws. */
export async function probeBubblewrap(bases: string, plan: () => Promise<BasePlan>): Promise<Abilities> {
  const none = (...notes: string[]): Abilities => ({
    probe: { driver: 'bubblewrap', available: false, notes, missing: [] },
    program: 'bwrap',
    canForbidUserNamespaces: false,
    hasSetpriv: false,
  });
  if (process.platform !== 'linux') return none('bubblewrap needs Linux.');
  const program = await findInPath('bwrap');
  if (!program) return none('bubblewrap is not installed: install the package bubblewrap, or Docker or podman.');
  try {
    const version = (await run(program, ['--version'])).stdout.trim().replace(/^bubblewrap /, '');
    const base = await plan();
    const root = await baseFolder(base, bases);
    await run(
      program,
      ['--unshare-all', '--ro-bind', root, '/', '--proc', '/proc', '--dev', '/dev', '/bin/sh', '-c', 'true'],
      { timeout: 10_000 },
    );
    const cgroups = await findCgroups();
    const missing = [
      ...(cgroups?.has.includes('memory') ? [] : ['memory limit']),
      ...(cgroups?.has.includes('pids') ? [] : ['pids limit']),
      ...(cgroups?.has.includes('cpu') ? [] : ['cpu limit']),
      ...(seccompFilter() ? [] : ['seccomp']),
    ];
    return {
      probe: {
        driver: 'bubblewrap',
        available: true,
        notes: base.notes,
        version,
        where: program,
        level: missing.length > 0 ? 'basic' : 'strict',
        missing,
      },
      program,
      ...(cgroups ? { cgroups } : {}),
      canForbidUserNamespaces: !isOlder(version, '0.8.0'),
      hasSetpriv: base.entries.some((entry) => entry.path === '/usr/bin/setpriv'),
    };
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr || (error as Error).message).trim();
    return none(`bubblewrap is installed (${program}) but does not work here: ${said}`);
  }
}

async function findInPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '/usr/bin:/bin').split(delimiter)) {
    const path = join(folder, name);
    if (
      folder &&
      (await access(path).then(
        () => true,
        () => false,
      ))
    )
      return path;
  }
  return undefined;
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number));
  for (let i = 0; i < 3; i++) if ((a![i] ?? 0) !== (b![i] ?? 0)) return (a![i] ?? 0) < (b![i] ?? 0);
  return false;
}
