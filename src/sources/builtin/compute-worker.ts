import { parentPort } from 'node:worker_threads';
import { dataTasks } from './data-tasks.ts';
import { textTasks } from './text-tasks.ts';

const tasks: Record<string, (args: never) => unknown> = { ...textTasks, ...dataTasks };

parentPort?.on('message', ({ task, args }: { task: string; args: unknown }) => {
  try {
    const run = tasks[task];
    if (!run) throw new Error(`there is no task ${task}`);
    parentPort?.postMessage({ value: run(args as never) });
  } catch (error) {
    parentPort?.postMessage({ error: (error as Error).message });
  }
});
