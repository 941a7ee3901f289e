import { fork, type ChildProcess } from 'node:child_process';
import { fail, isObject, PassingMap, type Call } from '../../schema/index.ts';
import type { FromHost, ToHost } from './host-messages.ts';

/** What a pack's file exports, not checked yet. */
export interface Exported {
  bundle: unknown;
  tools: { name: string; info: unknown }[];
}

/** A file that could not be loaded, with the line where known. */
export class BrokenPack extends Error {
  readonly line: number | undefined;
  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

export interface PackProcessOptions {
  hostPath: string;
  /** The snapshot's folder and the file in it. */
  folder: string;
  file: string;
  drop?: { uid: number; gid: number };
  onOutput(text: string): void;
  onExit(process: PackProcess): void;
}

interface Running {
  call: Call;
  name: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
  /** Set once nobody waits for this call any more. */
  stopping?: NodeJS.Timeout;
}

const loadMs = 15_000;
const cancelGraceMs = 500;
const recentMs = 100;
const pingMs = 250;
const maxAnswerBytes = 16 * 1024 * 1024;
const logLevels = ['debug', 'info', 'warn', 'error'];

/** One pack in a process of its own. A call that does not let go is ended together with the process. */
export class PackProcess {
  readonly #options: PackProcessOptions;
  readonly #child: ChildProcess;
  readonly #running = new PassingMap<number, Running>();
  #lastId = 0;
  #stderr = '';
  #heardAt = 0;
  readonly #pinged = new Map<number, () => void>();
  #loading: { resolve(exported: Exported): void; reject(error: Error): void } | undefined;
  #isRetired = false;
  #isGone = false;

  constructor(options: PackProcessOptions) {
    this.#options = options;
    this.#child = fork(options.hostPath, [], {
      cwd: options.folder,
      env: {
        PATH: process.env['PATH'] ?? '',
        LANG: process.env['LANG'] ?? 'C.UTF-8',
        TZ: process.env['TZ'] ?? '',
        HOME: options.folder,
        NODE_NO_WARNINGS: '1',
      },
      execArgv: ['--max-old-space-size=512'],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.on('message', (message) => this.#hearAnything(message as FromHost));
    this.#child.on('error', () => this.#gone('its process could not be started'));
    this.#child.on('exit', (code, signal) =>
      this.#gone(signal ? `its process was ended (${signal})` : `its process ended with code ${code}`),
    );
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.#print(text));
  }

  get isUsable(): boolean {
    return !this.#isGone && !this.#isRetired;
  }

  /** True once there is no process any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Imports the file; throws BrokenPack. Must come before any call. */
  async load(): Promise<Exported> {
    const { file, drop, folder } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Exported>((resolve, reject) => {
        this.#loading = { resolve, reject };
        timer = setTimeout(() => reject(new BrokenPack(`it was not loaded within ${loadMs / 1000} s`)), loadMs);
        this.#send({ type: 'load', file, ...(drop && { drop }) });
      });
    } catch (error) {
      this.kill();
      if (error instanceof BrokenPack && error.line === undefined)
        throw new BrokenPack(error.message, lineIn(this.#stderr, file, folder));
      throw error;
    } finally {
      clearTimeout(timer);
      this.#loading = undefined;
    }
  }

  /** Runs one exported function. Throws what it threw, tool.failed when the process ended. */
  run(name: string, args: Record<string, unknown>, call: Call): Promise<unknown> {
    const id = ++this.#lastId;
    const stop = (): void => this.#cancel(id);
    const done = new Promise<unknown>((resolve, reject) => {
      this.#running.set(id, { call, name, resolve, reject });
      const { principal, level, door } = call.actor;
      const { name: toolName, slug, bundleSlug } = call.tool;
      const about = {
        actor: { principal, level, door },
        tool: { name: toolName, slug, bundleSlug },
        requestId: call.requestId,
      };
      this.#send({ type: 'call', id, name, args, about });
    });
    call.signal.addEventListener('abort', stop, { once: true });
    if (call.signal.aborted) stop();
    return done.finally(() => {
      call.signal.removeEventListener('abort', stop);
      clearTimeout(this.#running.get(id)?.stopping);
      this.#running.delete(id);
      if (this.#isRetired && this.#running.size === 0) this.kill();
    });
  }

  /** Takes no more calls, and ends when the last one is answered. */
  retire(): void {
    this.#isRetired = true;
    if (this.#running.size === 0) this.kill();
  }

  kill(): void {
    this.#isRetired = true;
    this.#child.kill('SIGKILL');
  }

  /** False when the process is stuck in a call and could not begin another one. */
  async isResponsive(): Promise<boolean> {
    if (!this.isBusy || performance.now() - this.#heardAt < recentMs) return true;
    const id = ++this.#lastId;
    this.#send({ type: 'cancel', id });
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(this.#pinged.delete(id) && false), pingMs);
      this.#pinged.set(id, () => (clearTimeout(timer), resolve(true)));
    });
  }

  #send(message: ToHost): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** A pack can say anything to us: what we cannot make sense of is its end, never ours. */
  #hearAnything(message: FromHost): void {
    try {
      this.#hear(message);
    } catch {
      this.kill();
    }
  }

  #hear(message: FromHost): void {
    this.#heardAt = performance.now();
    if (message.type === 'loaded') this.#loading?.resolve({ bundle: message.bundle, tools: message.tools });
    else if (message.type === 'broken') {
      // A syntax error's line may come on stderr, which ends with the process.
      const line = lineIn(message.stack, this.#options.file, this.#options.folder);
      const broken = new BrokenPack(this.#withoutFolder(message.message), line);
      if (line !== undefined) this.#loading?.reject(broken);
      else this.#child.once('close', () => this.#loading?.reject(broken));
    } else if (message.type === 'done') this.#done(message);
    else if (message.type === 'cancelled') this.#released(message.id);
    else this.#serve(message);
  }

  #done(message: Extract<FromHost, { type: 'done' }>): void {
    const found = this.#running.get(message.id);
    if (!found) return;
    if (!message.ok)
      return found.reject(fail('tool.failed', { reason: this.#explain(found.name, message.message, message.stack) }));
    if (message.json.length > maxAnswerBytes)
      return found.reject(fail('response.too_large', { tool: found.call.tool.name, limit: maxAnswerBytes }));
    found.resolve(JSON.parse(message.json));
  }

  /** Things that a running call wants from the server; what names no running call is ignored. */
  #serve(message: Extract<FromHost, { type: 'ask' | 'progress' | 'log' }>): void {
    const call = this.#running.get(message.id)?.call;
    if (!call) return;
    if (message.type === 'progress')
      return Number.isFinite(message.progress?.progress) ? call.progress(message.progress) : undefined;
    if (message.type === 'log') {
      const { level, message: text, fields } = message;
      return call.log(logLevels.includes(level) ? level : 'info', text, isObject(fields) ? fields : {});
    }
    const { id, ask, what, name = '', args = {} } = message;
    const answer =
      what === 'list'
        ? call.list().then((tools) => tools.map((tool) => ({ name: tool.name, description: tool.description })))
        : call
            .invoke(String(name), args)
            .then((outcome) => (outcome.ok ? { ok: true, value: outcome.value } : { ok: false, error: outcome.error }));
    answer.then(
      (value) => this.#send({ type: 'reply', id, ask, ok: true, value }),
      (error: Error) => this.#send({ type: 'reply', id, ask, ok: false, value: error.message }),
    );
  }

  #cancel(id: number): void {
    const found = this.#running.get(id);
    if (!found || found.stopping) return;
    this.#send({ type: 'cancel', id });
    // No answer to that: the process is stuck in a loop, and only its end ends the loop.
    found.stopping = setTimeout(() => this.kill(), cancelGraceMs);
  }

  /** The process is alive and knows that nobody waits: the call may be forgotten. */
  #released(id: number): void {
    this.#pinged.get(id)?.();
    this.#pinged.delete(id);
    const found = this.#running.get(id);
    if (!found) return;
    clearTimeout(found.stopping);
    found.reject(found.call.signal.reason as Error);
  }

  #gone(why: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    for (const { call, name, reject } of this.#running.values())
      reject(
        call.signal.aborted
          ? (call.signal.reason as Error)
          : new ProcessEnded(`${name} was cut off: ${why}. Try again.`),
      );
    // What the process printed last may still be on its way.
    const loading = this.#loading;
    if (loading) this.#child.once('close', () => loading.reject(new BrokenPack(why)));
    this.#options.onExit(this);
  }

  #print(text: string): void {
    if (this.#loading) this.#stderr = (this.#stderr + text).slice(-20_000);
    this.#options.onOutput(this.#withoutFolder(text));
  }

  #explain(name: string, message: string, stack: string): string {
    const line = lineIn(stack, this.#options.file, this.#options.folder);
    const where = line === undefined ? '' : ` (${this.#withoutFolder(this.#options.file)}:${line})`;
    return `${name}: ${this.#withoutFolder(message)}${where}`;
  }

  #withoutFolder(text: string): string {
    return text.replaceAll(`file://${this.#options.folder}/`, '').replaceAll(`${this.#options.folder}/`, '');
  }
}

/** The process ended under a call that was not to blame. */
export class ProcessEnded extends Error {}

/** The first line number of that file in a stack or in what Node printed. */
function lineIn(text: string, file: string, folder: string): number | undefined {
  for (const prefix of [file, folder]) {
    const at = text.indexOf(prefix);
    const match = at === -1 ? undefined : /^[^\s:)]*:(\d+)/.exec(text.slice(at));
    if (match) return Number(match[1]);
  }
  return undefined;
}
