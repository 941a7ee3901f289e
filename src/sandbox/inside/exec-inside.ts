import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
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
  const [program = '', ...args] = request.command;
  const child = spawn(program, args, {
    cwd: request.workdir,
    env: { ...process.env, ...request.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
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
  child.on('error', (error: NodeJS.ErrnoException) => {
    const said = notStarted(error.code, program, request.workdir);
    if (said) {
      answer.exit_code = said.exitCode;
      err.push(Buffer.from(`${said.reason}\n`));
    } else answer.error = error.message;
    finish();
  });
  // A grandchild may keep the pipes open: what is there shortly after the end is the answer.
  child.on('exit', (code, signal) => {
    answer.exit_code = code ?? (isStopped || !signal ? null : 128 + constants.signals[signal]);
    setTimeout(finish, 100);
  });
  child.on('close', finish);
}

/** A command that cannot be started ends like in a shell: that is its own fault, not the sandbox's. */
function notStarted(
  code: string | undefined,
  program: string,
  workdir: string,
): { exitCode: number; reason: string } | undefined {
  if (code === 'ENOENT' && !existsSync(workdir)) return { exitCode: 126, reason: `${workdir}: no such folder` };
  if (code === 'ENOENT') return { exitCode: 127, reason: `${program}: not found` };
  if (code === 'EACCES') return { exitCode: 126, reason: `${program}: permission denied` };
  return undefined;
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
