import { execFile } from 'node:child_process';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import { systemUser } from '../system-user.ts';

/** A process to start, before it is closed in. */
export interface Command {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd?: string;
}

/** What to hand to `spawn`. */
export interface LaunchPlan {
  command: string;
  args: string[];
  env: Record<string, string>;
  cwd: string;
  uid?: number;
  gid?: number;
}

const inherited = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];
const run = promisify(execFile);

/** The few variables that an ordinary program needs; nothing of ours, no key that happens to lie around. */
export function minimalEnvironment(from: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of inherited) {
    const value = from[name];
    if (value !== undefined && !value.startsWith('()')) env[name] = value;
  }
  return env;
}

/**
 * Closes a command in as far as this machine can: it does not see `hiddenFolder`, dies with us even when we are
 * killed, and does not run as root where the system has a user called `oubliette`.
 */
export async function planLaunch(command: Command, hiddenFolder: string): Promise<LaunchPlan> {
  const user = await systemUser(['oubliette']);
  const cwd = command.cwd ? resolve(command.cwd) : startFolder();
  const env = {
    ...minimalEnvironment(),
    ...(user ? { HOME: user.home, USER: user.name, LOGNAME: user.name } : {}),
    ...command.env,
  };
  const ids = user ? { uid: user.uid, gid: user.gid } : {};
  const fence = await fenceFlags();
  if (fence === 'bwrap' || fence === 'bwrap-pid') {
    const hidden = hide(realFolder(hiddenFolder), command, cwd);
    const pids = fence === 'bwrap-pid' ? ['--unshare-pid', '--proc', '/proc'] : [];
    return {
      command: 'bwrap',
      args: [
        '--dev-bind',
        '/',
        '/',
        ...hidden,
        ...pids,
        '--die-with-parent',
        '--chdir',
        cwd,
        '--',
        command.command,
        ...command.args,
      ],
      env,
      cwd: '/',
      ...ids,
    };
  }
  if (fence === 'setpriv')
    return { command: 'setpriv', args: ['--pdeathsig', 'KILL', command.command, ...command.args], env, cwd, ...ids };
  return { command: command.command, args: [...command.args], env, cwd, ...ids };
}

/** Files that the command line names stay readable even inside the hidden folder; everything else there is gone. */
function hide(folder: string, command: Command, cwd: string): string[] {
  const flags = ['--tmpfs', folder];
  const named = new Set(
    [command.command, ...command.args].map((each) => (isAbsolute(each) ? each : resolve(cwd, each))),
  );
  for (const path of named)
    if (isInside(folder, path) && !isOurs(folder, path) && isFile(path)) flags.push('--ro-bind', path, path);
  if (isInside(folder, cwd) && !isOurs(folder, cwd) && existsSync(cwd)) flags.push('--bind', cwd, cwd);
  return flags;
}

const ourOwn =
  /^(config\.yaml|prompts\.yaml|admin\.token|server\.json|.*\.db(-wal|-shm)?|.*\.key|catalog|packs|logs|results|notes|reports|blobs|projects|run|secrets.*)$/;

function isOurs(folder: string, path: string): boolean {
  return ourOwn.test(relative(folder, path).split(sep)[0] ?? '');
}

function isInside(folder: string, path: string): boolean {
  const rest = relative(folder, path);
  return rest !== '' && !rest.startsWith('..') && !isAbsolute(rest);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function startFolder(): string {
  const home = homedir();
  return existsSync(home) ? home : '/';
}

type Fence = 'bwrap-pid' | 'bwrap' | 'setpriv' | 'none';
let known: Promise<Fence> | undefined;

/** The strongest isolation that works here; tried out once, because containers often forbid what is installed. */
export function fenceFlags(): Promise<Fence> {
  return (known ??= tryFences());
}

async function tryFences(): Promise<Fence> {
  if (process.platform !== 'linux') return 'none';
  const works = (file: string, args: string[]): Promise<boolean> =>
    run(file, args, { timeout: 5000 }).then(
      () => true,
      () => false,
    );
  const bind = ['--dev-bind', '/', '/', '--tmpfs', '/mnt'];
  if (await works('bwrap', [...bind, '--unshare-pid', '--proc', '/proc', '--die-with-parent', '--', 'true']))
    return 'bwrap-pid';
  if (await works('bwrap', [...bind, '--die-with-parent', '--', 'true'])) return 'bwrap';
  if (await works('setpriv', ['--pdeathsig', 'KILL', 'true'])) return 'setpriv';
  return 'none';
}
