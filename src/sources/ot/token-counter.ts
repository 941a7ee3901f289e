import { Worker } from 'node:worker_threads';

/** Counts tokens in a thread that ends afterwards. `workerPath` is `entryPoint('sources/ot/token-worker')`. */
export function tokenCounter(workerPath: string): (texts: string[]) => Promise<number> {
  return (texts) =>
    new Promise((resolve, reject) => {
      const worker = new Worker(workerPath, { workerData: texts });
      worker.unref();
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error('the token counter ended without an answer')));
    });
}
