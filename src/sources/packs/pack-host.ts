// The process in which one pack runs: it imports one file, then answers calls. It imports nothing of ours but types.
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { CallAbout, FromHost, ToHost } from './host-messages.ts';

type PackFunction = ((args: unknown, call: unknown) => unknown) & { tool?: unknown };

const functions = new Map<string, PackFunction>();
const running = new Map<number, AbortController>();
const asked = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
let lastAsk = 0;

const say = (message: FromHost): void => void process.send?.(message);

process.on('message', (message: ToHost) => {
  if (message.type === 'load') void load(message);
  else if (message.type === 'call') void run(message);
  else if (message.type === 'cancel') cancel(message.id);
  else settle(message);
});
// Without the server there is nobody to work for.
process.on('disconnect', () => process.exit(0));
// An endless loop never hears that the server is gone; a thread of its own does. Whose child we are is told to it: the
// server may be gone before that thread first looks.
const watchman = new Worker(
  `const { workerData: server } = require('node:worker_threads');
   setInterval(() => { if (process.ppid !== server) process.kill(process.pid, 'SIGKILL'); }, 1000);`,
  { eval: true, execArgv: [], env: {}, workerData: process.ppid, resourceLimits: { maxOldGenerationSizeMb: 8 } },
);
watchman.unref();
// A promise that a pack forgot must not end its other calls.
process.on('unhandledRejection', (reason) => console.error(reason));

async function load({ file, drop }: Extract<ToHost, { type: 'load' }>): Promise<void> {
  if (drop) {
    process.setgroups?.([]);
    process.setgid?.(drop.gid);
    process.setuid?.(drop.uid);
  }
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module))
      if (typeof value === 'function' && (value as PackFunction).tool !== undefined)
        functions.set(name, value as PackFunction);
    const tools = [...functions].map(([name, each]) => ({ name, info: plain(each.tool) }));
    say({ type: 'loaded', bundle: plain(module['bundle']), tools });
  } catch (error) {
    say({ type: 'broken', ...wordsOf(error) });
    // Node prints the place of a syntax error only when nobody catches it.
    setImmediate(() => {
      throw error;
    });
  }
}

/** What was thrown, which may be anything, also something that throws when it is read. */
function wordsOf(error: unknown): { message: string; stack: string } {
  try {
    const { message = error, stack = '' } = (error ?? {}) as { message?: unknown; stack?: unknown };
    return { message: String(message), stack: String(stack) };
  } catch {
    return { message: 'it threw something that cannot be put into words', stack: '' };
  }
}

/** Only what JSON can say leaves this process. */
function plain(value: unknown): unknown {
  return value === undefined ? null : (JSON.parse(JSON.stringify(value) ?? 'null') as unknown);
}

async function run({ id, name, args, about }: Extract<ToHost, { type: 'call' }>): Promise<void> {
  const stop = new AbortController();
  running.set(id, stop);
  try {
    const value = await functions.get(name)?.(args, callFor(id, about, stop.signal));
    say({ type: 'done', id, ok: true, json: JSON.stringify(value) ?? 'null' });
  } catch (error) {
    say({ type: 'done', id, ok: false, ...wordsOf(error) });
  } finally {
    running.delete(id);
  }
}

function callFor(id: number, about: CallAbout, signal: AbortSignal): object {
  const ask = (what: 'invoke' | 'list', name?: string, args?: Record<string, unknown>): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const number = ++lastAsk;
      asked.set(number, { resolve, reject });
      say({ type: 'ask', id, ask: number, what, ...(name !== undefined && { name }), ...(args && { args }) });
    });
  return {
    ...about,
    signal,
    invoke: (name: string, args: Record<string, unknown> = {}) => ask('invoke', name, args),
    list: () => ask('list'),
    progress: (progress: { progress: number }) => say({ type: 'progress', id, progress }),
    log: (level: 'info', message: string, fields: Record<string, unknown> = {}) =>
      say({ type: 'log', id, level, message: String(message), fields }),
  };
}

function cancel(id: number): void {
  running.get(id)?.abort(new Error('nobody waits for the answer any more'));
  // Saying so proves that this process is not stuck in a loop.
  say({ type: 'cancelled', id });
}

function settle({ ask, ok, value }: Extract<ToHost, { type: 'reply' }>): void {
  const waiting = asked.get(ask);
  asked.delete(ask);
  if (ok) waiting?.resolve(value);
  else waiting?.reject(new Error(String(value)));
}
