import { spawn } from 'node:child_process';
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
  const kill = (): void => {
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
    answer.error = error.message;
    finish();
  });
  // A grandchild may keep the pipes open: what is there shortly after the end is the answer.
  child.on('exit', (code) => {
    answer.exit_code = code;
    setTimeout(finish, 100);
  });
  child.on('close', finish);
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
