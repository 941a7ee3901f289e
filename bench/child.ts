import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Child<T> {
  /** The first line it printed, as JSON. */
  ready: T;
  process: ChildProcess;
  stop(): Promise<void>;
}

/** Starts another TypeScript file of bench/ as its own process and waits for its first line. */
export async function startChild<T>(file: string, args: string[] = []): Promise<Child<T>> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`))),
  ])) as [string];
  return {
    ready: JSON.parse(line) as T,
    process: child,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
