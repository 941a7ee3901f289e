import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fail, insidePaths } from '../../schema/index.ts';
import type { SandboxSpec } from '../driver.ts';
import { tailOf } from '../log-tail.ts';
import { bwrapArguments } from './arguments.ts';
import { boxMark, childrenOf, processStart } from './box-files.ts';
import { removeGroups } from './cgroups.ts';
import type { Abilities } from './probe.ts';
import { seccompFilter } from './seccomp.ts';

/** Long, because a hundred that start at once on a busy machine wait for each other. */
const startWithinMs = 60_000;
const seccompFd = 3;
const statusFd = 4;
const optionsFd = 5;

/** Joins the control groups named before `--`, then becomes the command behind it. */
const joinGroups = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 97; shift; done; shift; exec "$@"';

/**
 * Starts bubblewrap as a process that outlives us and answers when the command inside runs. Fails with
 * sandbox.failed, and leaves nothing behind, when it does not come that far.
 */
export async function launch(options: {
  spec: SandboxSpec;
  root: string;
  able: Abilities;
  folder: string;
  /** Runs before the first process is made: what a server that is killed meanwhile leaves behind can be found again. */
  onLaunch?: (cgroups: string[]) => Promise<void>;
  withinMs?: number;
}): Promise<{ pid: number; pidStarted: string; cgroups: string[] }> {
  const { spec, root, able, folder, withinMs = startWithinMs } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let cgroups: string[] = [];
  try {
    const filter = seccompFilter();
    if (filter) await writeFile(join(folder, 'seccomp'), filter, { mode: 0o600 });
    cgroups = (await able.cgroups?.create(spec.id, spec.limits)) ?? [];
    const groups = cgroups.map((group) => join(group, 'cgroup.procs'));
    const { options: flags, command } = bwrapArguments({
      root,
      spec,
      isRoot: process.getuid?.() === 0,
      ...(filter ? { seccompFd } : {}),
      statusFd,
      hasMemoryGroup: able.cgroups?.has.includes('memory') ?? false,
      hasPidsGroup: able.cgroups?.has.includes('pids') ?? false,
      canForbidUserNamespaces: able.canForbidUserNamespaces,
      hasSetpriv: able.hasSetpriv,
    });
    await writeFile(join(folder, 'options'), flags.join('\0'), { mode: 0o600 });
    await options.onLaunch?.(cgroups);
    const bwrap = [able.program, '--args', String(optionsFd), '--', ...command];
    const exit = run(
      ['/bin/sh', '-c', joinGroups, 'sh', ...groups, '--', ...bwrap],
      { ...spec.env, [boxMark]: spec.id },
      folder,
      filter !== undefined,
    );
    return { ...(await begun(folder, exit, withinMs)), cgroups };
  } catch (error) {
    await removeGroups(cgroups);
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

interface Exit {
  code: number | null | undefined;
  /** The process and all that it started so far. */
  group: number | undefined;
}

function run(command: string[], env: Record<string, string>, folder: string, hasFilter: boolean): Exit {
  const log = openSync(join(folder, 'log'), 'a', 0o600);
  const status = openSync(join(folder, 'status.json'), 'w', 0o600);
  const options = openSync(join(folder, 'options'), 'r');
  const filter = hasFilter ? openSync(join(folder, 'seccomp'), 'r') : undefined;
  const exit: Exit = { code: undefined, group: undefined };
  try {
    const child = spawn(command[0]!, command.slice(1), {
      env: { PATH: '/usr/bin:/bin', HOME: insidePaths.home, ...env },
      cwd: '/',
      stdio: ['ignore', log, log, filter ?? 'ignore', status, options],
      detached: true,
    });
    exit.group = child.pid;
    child.on('error', () => (exit.code = null));
    child.on('exit', (code) => (exit.code = code));
    child.unref();
  } finally {
    for (const fd of [log, status, options, filter]) if (fd !== undefined) closeSync(fd);
  }
  return exit;
}

/** Waits until the first process inside has started the command: then all mounts are made. */
async function begun(folder: string, exit: Exit, withinMs: number): Promise<{ pid: number; pidStarted: string }> {
  const deadline = performance.now() + withinMs;
  let pid = 0;
  for (let waitMs = 1; performance.now() < deadline; waitMs = Math.min(waitMs * 1.3, 20)) {
    await pause(waitMs);
    pid ||= Number(/"child-pid": *(\d+)/.exec(await readFile(join(folder, 'status.json'), 'utf8'))?.[1] ?? 0);
    const pidStarted = pid ? await processStart(pid) : undefined;
    if (pidStarted && (await childrenOf(pid)).length > 0) return { pid, pidStarted };
    if (exit.code === undefined) continue;
    // A command may be so short that it is over before we looked.
    if (exit.code === 0 && pid) return { pid, pidStarted: 'over' };
    const log = tailOf(await readFile(join(folder, 'log')), 5).trim();
    throw fail('sandbox.failed', { reason: log || `bubblewrap ended with code ${exit.code}` });
  }
  // One that is merely late must not begin when nobody knows of it any more.
  for (const each of [pid, exit.group && -exit.group]) if (each) endNow(each);
  throw fail('sandbox.failed', { reason: `bubblewrap did not start within ${withinMs} ms` });
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is over already.
  }
}
