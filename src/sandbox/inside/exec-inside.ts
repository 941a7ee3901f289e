import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { statSync } from 'node:fs';
import { constants } from 'node:os';
import type { ExecRequest, FromExec, ToExec } from '../../schema/supervisor.ts';
import { keepConnected, type Peer } from './reconnect.ts';

/** Runs commands for the server beside the agent: same namespaces, same limits, own process group each. */
export function execConnection(path: string): void {
  const running = new Map<string, () => void>();
  keepConnected(
    path,
    () => {},
    (message: ToExec, peer) => {
      if ('cancel' in message) running.get(message.cancel)?.();
      else if ('exec' in message && !running.has(message.exec.id)) run(message.exec, peer, running);
    },
  );
}

function run(request: ExecRequest, peer: Peer, running: Map<string, () => void>): void {
  const answer: FromExec = {
    id: request.id,
    exit_code: null,
    stdout: '',
    stderr: '',
    timed_out: false,
    truncated: false,
  };
  const finish = (): void => {
    if (!running.delete(request.id)) return;
    clearTimeout(timer);
    answer.stdout = out.text();
    answer.stderr = err.text();
    answer.truncated = out.isCut || err.isCut;
    peer.send(answer);
  };
  const child = begin(request);
  if (child instanceof Error) return void peer.send({ ...answer, ...notStarted(child, request) });
  let isStopped = false;
  const kill = (): void => {
    isStopped = true;
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Over already.
    }
  };
  const out = capped(request.maxBytes);
  const err = capped(request.maxBytes);
  const timer = setTimeout(() => {
    answer.timed_out = true;
    kill();
  }, request.timeoutMs);
  running.set(request.id, kill);
  child.stdout.on('data', out.push);
  child.stderr.on('data', err.push);
  child.stdin.on('error', () => {});
  child.stdin.end(request.stdin ?? '');
  child.on('error', (error) => {
    const { stderr, ...why } = notStarted(error, request);
    Object.assign(answer, why);
    if (stderr !== undefined) err.push(Buffer.from(stderr));
    finish();
  });
  // A grandchild may keep the pipes open: what is there shortly after the end is the answer.
  child.on('exit', (code, signal) => {
    answer.exit_code = code ?? (isStopped || !signal ? null : 128 + constants.signals[signal]);
    setTimeout(finish, 100);
  });
  child.on('close', finish);
}

/** Some failures are told by an event, others are thrown: a supervisor that died of one would take the agent with it. */
function begin({
  command: [program = '', ...args],
  workdir,
  env,
}: ExecRequest): ChildProcessWithoutNullStreams | Error {
  try {
    return spawn(program, args, {
      cwd: workdir,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
  } catch (error) {
    return error as Error;
  }
}

const faults: Record<string, { exit_code: number; reason: string }> = {
  ENOENT: { exit_code: 127, reason: 'not found' },
  EACCES: { exit_code: 126, reason: 'permission denied' },
  ENOTDIR: { exit_code: 126, reason: 'not a directory' },
  ENAMETOOLONG: { exit_code: 126, reason: 'file name too long' },
  ELOOP: { exit_code: 126, reason: 'too many levels of links' },
  ENOEXEC: { exit_code: 126, reason: 'cannot be run' },
  E2BIG: { exit_code: 126, reason: 'the arguments are too long' },
};

/** A command that cannot be started ends like in a shell: that is its own fault, not the sandbox's. */
function notStarted(
  error: NodeJS.ErrnoException,
  { command: [program = ''], workdir }: ExecRequest,
): Partial<Pick<FromExec, 'error' | 'exit_code' | 'stderr'>> {
  const fault = program === '' ? faults['ENOENT'] : faults[error.code ?? ''];
  if (!fault) return { error: error.message };
  if (!isFolder(workdir)) return { exit_code: 126, stderr: `${workdir}: no such folder\n` };
  return { exit_code: fault.exit_code, stderr: `${program.slice(0, 200)}: ${fault.reason}\n` };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function capped(maxBytes: number): { push(chunk: Buffer): void; text(): string; readonly isCut: boolean } {
  const parts: Buffer[] = [];
  let size = 0;
  let isCut = false;
  return {
    push(chunk) {
      const room = maxBytes - size;
      if (chunk.length > room) isCut = true;
      if (room <= 0) return;
      const part = chunk.subarray(0, room);
      parts.push(part);
      size += part.length;
    },
    text: () => Buffer.concat(parts, size).toString('utf8'),
    get isCut() {
      return isCut;
    },
  };
}
