import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { cameIn, isLongInteger, parseExactly, stayAwake } from '../../schema/index.ts';
import type { LaunchPlan } from './launch.ts';
import { Outbox } from './outbox.ts';

const longestLine = 64 * 1024 * 1024;
/** More than all calls that may wait at once are likely to need. */
const mostUnread = 256 * 1024 * 1024;
/** Messages nobody asked for; more than this in a second and the pipe is read only now and then. */
const unaskedPerSecond = 2_000;
const longestNoise = 2_000;
/** How long output that a process wrote before its end may still be on its way. */
const lastWordsMs = 1_000;

/** One upstream process: a JSON-RPC message per line, its stderr kept by whoever listens. */
export class StdioPipe implements Transport {
  onmessage?: Transport['onmessage'];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Every line of stderr, and what came on stdout without being a message. */
  onnoise?: (line: string) => void;
  readonly #plan: LaunchPlan;
  readonly #mostUnread: number;
  #child: ChildProcessWithoutNullStreams | undefined;
  #exited: Promise<void> = Promise.resolve();
  /** The beginning of a line, in pieces: joining them each time would copy a long line over and over. */
  #held: string[] = [];
  #heldLength = 0;
  #murmur = '';
  readonly #outbox = new Outbox((text) => this.#write(text));
  #unasked = { second: 0, count: 0 };
  #isClosing = false;

  constructor(plan: LaunchPlan, unread = mostUnread) {
    this.#plan = plan;
    this.#mostUnread = unread;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** The SDK recognises a process by these two members. */
  get stderr(): null {
    return null;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, uid, gid } = this.#plan;
    // A group of its own, so that what the process started goes with it.
    const child = spawn(command, args, { env, cwd, uid, gid, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    child.stdout.setEncoding('utf8');
    child.stderr.setEncoding('utf8');
    child.stdout.on('data', (text: string) => this.#read(text));
    child.stderr.on('data', (text: string) => this.#noise(text));
    child.stdin.on('error', (error) => this.onerror?.(error));
    // Its children may keep its pipes open; without the process itself they are of no use.
    let lastWords: NodeJS.Timeout | undefined;
    child.once('exit', () => (lastWords = setTimeout(() => this.#reap(child), lastWordsMs).unref()));
    this.#exited = new Promise((resolve) => {
      child.once('close', () => {
        clearTimeout(lastWords);
        this.#reap(child);
        this.#noise();
        resolve();
        this.onclose?.();
      });
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.on('error', (error) => this.onerror?.(error));
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (!this.#child?.stdin.writable) return Promise.reject(new Error('the process has ended'));
    this.#outbox.add(message);
    return Promise.resolve();
  }

  #write(text: string): void {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) return;
    stdin.write(text);
    stayAwake();
    if (stdin.writableLength <= this.#mostUnread) return;
    this.onnoise?.(`error: it left more than ${this.#mostUnread} bytes unread and was ended`);
    this.kill();
  }

  #read(text: string): void {
    cameIn();
    if (this.#heldLength > 0 && !text.includes('\n')) return this.#hold(text);
    const lines = (this.#heldLength === 0 ? text : this.#held.join('') + text).split('\n');
    this.#held = [];
    this.#heldLength = 0;
    const rest = lines.pop() ?? '';
    for (const line of lines) if (line.length > 1) this.#take(line);
    if (rest !== '') this.#hold(rest);
  }

  #hold(piece: string): void {
    this.#held.push(piece);
    this.#heldLength += piece.length;
    if (this.#heldLength <= longestLine) return;
    this.onnoise?.(`error: it wrote a line of more than ${longestLine} characters and was ended`);
    // A process that writes without end would go on while it is asked to stop.
    this.kill();
    this.#child?.stdout.destroy();
    this.#held = [];
    this.#heldLength = 0;
  }

  #take(line: string): void {
    let message: JSONRPCMessage | undefined;
    try {
      message = parseExactly(line) as JSONRPCMessage;
    } catch {
      this.onnoise?.(line.slice(0, longestNoise));
    }
    const isAnswer = typeof message === 'object' && message !== null && 'id' in message && !('method' in message);
    if (isAnswer) this.#outbox.answered();
    else this.#slowDown();
    if (typeof message !== 'object' || message === null || isLongInteger(message)) return;
    this.onmessage?.(message);
  }

  /** A flood must not keep the event loop from others. */
  #slowDown(): void {
    const second = Math.floor(Date.now() / 1000);
    if (this.#unasked.second !== second) this.#unasked = { second, count: 0 };
    if (++this.#unasked.count !== unaskedPerSecond) return;
    const stdout = this.#child?.stdout;
    stdout?.pause();
    setTimeout(() => stdout?.resume(), 1000 - (Date.now() % 1000)).unref();
  }

  /** Processes write their last words in pieces; without `text` the piece that is left counts as a line. */
  #noise(text?: string): void {
    const lines = (this.#murmur + (text ?? '\n')).split('\n');
    this.#murmur = (lines.pop() ?? '').slice(0, longestNoise);
    for (const line of lines) if (line !== '') this.onnoise?.(line.slice(0, longestNoise));
  }

  /** Asks by closing its input, then insists; resolves when the process and its children are gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child || this.#isClosing) return this.#exited;
    this.#isClosing = true;
    this.#outbox.flush();
    child.stdin.end();
    child.stdout.resume();
    for (const [signal, graceMs] of [
      ['SIGTERM', 700],
      ['SIGKILL', 1500],
    ] as const) {
      await Promise.race([this.#exited, sleep(graceMs, undefined, { ref: false })]);
      if (child.exitCode !== null || child.signalCode !== null) break;
      killGroup(child, signal);
    }
    await Promise.race([this.#exited, sleep(1000, undefined, { ref: false })]);
    this.#reap(child);
  }

  /** For an exit that cannot wait. */
  kill(): void {
    if (this.#child) killGroup(this.#child, 'SIGKILL');
  }

  #reap(child: ChildProcessWithoutNullStreams): void {
    killGroup(child, 'SIGKILL');
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  }
}

function killGroup(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group is gone already.
  }
}
