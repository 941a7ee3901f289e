import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import type { Socket } from 'node:net';
import { encodeFrame, FrameReader, type Frame } from './frames.ts';
import { begun, over, type Lingering } from './linger.ts';
import type { FromChild, ToChild } from './protocol.ts';

/** Why a child was ended before it answered. */
export type Kill = 'memory' | 'time' | 'cancelled' | 'crashed' | 'not-started';

export class ChildKilled extends Error {
  readonly reason: Kill;
  constructor(reason: Kill, options?: ErrorOptions) {
    super(`the program's process ended: ${reason}`, options);
    this.reason = reason;
  }
}

interface Pending {
  startedAt: number;
  maxMs: number;
  resolve(frame: Frame<FromChild>): void;
  reject(error: ChildKilled): void;
}

/** After this long a program may no longer compete with short ones for the processor. */
const slowAfterMs = 500;
const watchEveryMs = 20;
const pageBytes = 4096;

/** Where the system can do it, the kernel ends a child whose parent was killed, also in the middle of a program. */
const diesWithParent = existsSync('/usr/bin/setpriv')
  ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--no-new-privs']
  : [];

/** False where a child whose server was killed would go on with its program: such a program must end by itself. */
export const childrenDieWithUs = diesWithParent.length > 0;

/** Who is told when a child was asked something, and when it answered. */
export interface Watchers {
  onAsked?: (() => void) | undefined;
  onAnswered?: (() => void) | undefined;
}

/** One forked process that runs programs, one message at a time, and can be killed at any moment. */
export class Child implements Lingering {
  readonly #process: ChildProcess;
  readonly #questions: Socket;
  readonly #answers: Socket;
  readonly #reader = new FrameReader<FromChild>();
  readonly #maxResidentBytes: number;
  readonly #watchers: Watchers;
  #pending: Pending | undefined;
  #watch: NodeJS.Timeout | undefined;
  #reason: Kill = 'not-started';
  #startError: Error | undefined;
  #isSlow = false;
  /** Resolves when programs can run, or never will: starting is not their own time. */
  readonly ready: Promise<void>;
  isReady = false;
  #settleReady = (): void => {};
  isDead = false;
  onExit: (() => void) | undefined;

  constructor(childPath: string, options: { heapMb: number; maxResidentBytes: number } & Watchers) {
    this.#watchers = options;
    this.#maxResidentBytes = options.maxResidentBytes;
    this.ready = new Promise((resolve) => (this.#settleReady = resolve));
    const flags = [
      `--max-old-space-size=${options.heapMb}`,
      '--no-warnings',
      '--permission',
      '--allow-addons',
      '--allow-fs-read=*',
    ];
    const [command, ...args] = [...diesWithParent, process.execPath, ...flags, childPath];
    this.#process = spawn(command!, args, {
      // One for each direction: of a single one, every answer that we take would wake the child, who waits on the other end.
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: {},
      cwd: '/',
      detached: false,
    });
    this.#questions = this.#process.stdio[3] as Socket;
    this.#answers = this.#process.stdio[4] as Socket;
    this.#answers.on('data', (data: Buffer) => this.#receive(data));
    for (const way of [this.#questions, this.#answers]) way.on('error', () => this.kill(this.#reason));
    this.#process.on('error', (error) => {
      this.#startError = error;
      this.#ended();
    });
    this.#process.on('exit', () => this.#ended());
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** True once a program ran long here: its low priority cannot be raised again, so it should not serve others. */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /** Idle children must not keep the process alive. */
  setIdle(isIdle: boolean): void {
    for (const each of [this.#process, this.#questions, this.#answers])
      if (isIdle) each.unref();
      else each.ref();
  }

  /** Sends a message and waits for the answer, at most `maxMs`. Rejects with ChildKilled. */
  ask(message: ToChild, tail: Buffer | undefined, maxMs: number): Promise<Frame<FromChild>> {
    if (this.isDead) return Promise.reject(new ChildKilled(this.#reason, { cause: this.#startError }));
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject, startedAt: performance.now(), maxMs };
      begun(this);
      this.#questions.write(encodeFrame(message, tail));
      this.#watchers.onAsked?.();
    });
  }

  linger(): void {
    const pending = this.#pending;
    if (!pending) return;
    const usedMs = performance.now() - pending.startedAt;
    this.#watch = setTimeout(() => this.#look(pending), Math.max(0, Math.min(watchEveryMs, pending.maxMs) - usedMs));
  }

  kill(reason: Kill): void {
    if (this.isDead) return;
    this.#reason = reason;
    this.#process.kill('SIGKILL');
    this.#ended();
  }

  #receive(data: Buffer): void {
    this.#watchers.onAnswered?.();
    for (const frame of this.#reader.push(data)) {
      if (frame.head.op === 'ready') {
        this.#reason = 'crashed';
        this.isReady = true;
        this.#settleReady();
        continue;
      }
      this.#settled()?.resolve(frame);
    }
  }

  #settled(): Pending | undefined {
    const pending = this.#pending;
    this.#pending = undefined;
    over(this);
    if (this.#watch) clearTimeout(this.#watch);
    this.#watch = undefined;
    return pending;
  }

  /** Looks at time and memory of a program that has been running for a while; `pending` tells it from a later one. */
  #look(pending: Pending): void {
    if (this.#pending !== pending) return;
    const { startedAt, maxMs } = pending;
    const usedMs = performance.now() - startedAt;
    if (usedMs >= maxMs) {
      this.kill('time');
      return;
    }
    if (usedMs >= slowAfterMs && !this.#isSlow) {
      this.#isSlow = true;
      lowerPriority(this.pid);
    }
    void this.#residentBytes().then((bytes) => {
      if (this.#pending !== pending) return;
      if (bytes > this.#maxResidentBytes) this.kill('memory');
      else this.#watch = setTimeout(() => this.#look(pending), Math.min(watchEveryMs, maxMs - usedMs));
    });
  }

  async #residentBytes(): Promise<number> {
    if (process.platform !== 'linux') return 0;
    try {
      const fields = (await readFile(`/proc/${this.pid}/statm`, 'utf8')).split(' ');
      return Number(fields[1]) * pageBytes;
    } catch {
      return 0;
    }
  }

  #ended(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#settleReady();
    this.#questions.destroy();
    this.#answers.destroy();
    this.#settled()?.reject(new ChildKilled(this.#reason, { cause: this.#startError }));
    this.onExit?.();
  }
}

function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, 15);
  } catch {
    // The process is gone, or the system does not allow it: it only means less comfort for others.
  }
}
