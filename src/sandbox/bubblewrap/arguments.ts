import { existsSync } from 'node:fs';
import { insidePaths } from '../../schema/index.ts';
import type { SandboxSpec } from '../driver.ts';
import { sandboxUser } from '../sandbox-user.ts';

export interface BwrapPlan {
  root: string;
  spec: SandboxSpec;
  isRoot: boolean;
  /** Descriptors that bubblewrap inherits. */
  seccompFd?: number;
  statusFd: number;
  hasMemoryGroup: boolean;
  hasPidsGroup: boolean;
  canForbidUserNamespaces: boolean;
  hasSetpriv: boolean;
}

const mib = 1024 * 1024;
/** Counted as data although Node never touches most of it. */
const nodeReservesMb = 1024;
/** What engines hide of /proc too; not every kernel has them. */
const tellingFiles = ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/sched_debug', '/proc/latency_stats'];

/**
 * What bubblewrap is told about one sandbox. Options go in by a descriptor, for its command line can be read inside
 * and would show the host's paths; nothing secret is in either, the environment is inherited.
 */
export function bwrapArguments(plan: BwrapPlan): { options: string[]; command: string[] } {
  const { spec, root } = plan;
  const tmpBytes = String(((spec.limits.fileMb ?? 1024) * mib) / 4);
  const inMemory = (path: string): string[] => ['--perms', '1777', '--size', tmpBytes, '--tmpfs', path];
  const options = [
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-net',
    '--unshare-cgroup-try',
    ...(plan.isRoot ? [] : ['--unshare-user', '--uid', String(sandboxUser().uid), '--gid', String(sandboxUser().gid)]),
    ...(plan.isRoot || !plan.canForbidUserNamespaces ? [] : ['--disable-userns']),
    // Its own first process would wait for the last stray child; ours ends with the supervisor and takes all with it.
    '--as-pid-1',
    '--hostname',
    'sandbox',
    '--new-session',
    '--ro-bind',
    root,
    '/',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...inMemory('/dev/shm'),
    '--remount-ro',
    '/dev',
    ...inMemory('/tmp'),
    ...tellingFiles.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', '/dev/null', path]),
    '--bind',
    spec.workspace,
    insidePaths.workspace,
    '--ro-bind',
    spec.mcp,
    insidePaths.mcp,
    '--bind',
    spec.spool,
    insidePaths.spool,
    '--chdir',
    '/',
    '--cap-drop',
    'ALL',
    // Only for the one step down to the sandbox's own user; gone with it.
    ...(plan.isRoot ? ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((name) => ['--cap-add', name]) : []),
    ...(plan.seccompFd === undefined ? [] : ['--seccomp', String(plan.seccompFd)]),
    '--json-status-fd',
    String(plan.statusFd),
  ];
  const command = [
    ...(plan.isRoot ? stepDown(plan.hasSetpriv) : []),
    ...withLimits(plan),
    insidePaths.init,
    ...(spec.command ?? [insidePaths.node, insidePaths.supervisor]),
  ];
  return { options, command };
}

function stepDown(hasSetpriv: boolean): string[] {
  const { uid, gid } = sandboxUser();
  const program = `process.setgroups([]); process.setgid(${gid}); process.setuid(${uid}); process.execve(process.argv[1], process.argv.slice(1), process.env)`;
  if (!hasSetpriv) return [insidePaths.node, '-e', program];
  return [
    '/usr/bin/setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=-all',
    '--bounding-set=-all',
    '--no-new-privs',
    '--',
  ];
}

/**
 * Limits per process, set inside: outside they would count what the same user runs on the host. Shells disagree
 * on the letter for processes.
 */
function withLimits({ spec, hasMemoryGroup, hasPidsGroup }: BwrapPlan): string[] {
  const { limits } = spec;
  const script = [
    'ulimit -c 0',
    'ulimit -n 8192 2>/dev/null || ulimit -n "$(ulimit -Hn)"',
    `ulimit -f ${(limits.fileMb ?? 1024) * 2048}`,
    ...(hasMemoryGroup ? [] : [`ulimit -d ${(limits.memoryMb + nodeReservesMb) * 1024}`]),
    ...(hasPidsGroup ? [] : [`{ ulimit -p ${limits.pids} || ulimit -u ${limits.pids}; } 2>/dev/null`]),
    // Only now: the workspace is closed to everyone but the user that we have become.
    `cd ${insidePaths.workspace} && exec "$@"`,
  ];
  return ['/bin/sh', '-c', script.join('\n'), 'sh'];
}
