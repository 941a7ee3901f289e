import { parentPort } from 'node:worker_threads';
import { dataTasks } from './data-tasks.ts';
import { textTasks } from './text-tasks.ts';

const tasks: Record<string, (args: never) => unknown> = { ...textTasks, ...dataTasks };

parentPort?.on('message', ({ task, args }: { task: string; args: unknown }) => {
  answer(task, args).then(
    (value) => parentPort?.postMessage({ value }),
    (error: Error) => parentPort?.postMessage({ error: error.message }),
  );
});

async function answer(task: string, args: unknown): Promise<unknown> {
  const run = tasks[task];
  if (!run) throw new Error(`there is no task ${task}`);
  return run(args as never);
}
