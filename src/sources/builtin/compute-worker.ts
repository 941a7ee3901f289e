import { parentPort } from 'node:worker_threads';
import type { Tasks } from './compute.ts';
import { dataTasks } from './data-tasks.ts';
import { textTasks } from './text-tasks.ts';

const tasks: Tasks = { ...textTasks, ...dataTasks };

parentPort?.on('message', ({ task, args }: { task: keyof Tasks; args: unknown }) => {
  answer(task, args).then(
    (value) => parentPort?.postMessage({ value }),
    (error: Error) => parentPort?.postMessage({ error: error.message }),
  );
});

async function answer(task: keyof Tasks, args: unknown): Promise<unknown> {
  // `Compute.run` takes only what fits the task; which one it is, is lost on the way between threads.
  return tasks[task](args as never);
}
