import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Database } from '../store/index.ts';
import { AuditChain, type Entry } from './audit-chain.ts';
import type { AuditThreadAnswer, AuditThreadData } from './audit-thread.ts';

const background = 10;
const port = parentPort;
if (!port) throw new Error('audit-worker runs as a worker thread only');
const { path, key } = workerData as AuditThreadData;
// What it writes is waited for by nobody: those who answer calls go first.
setPriority(background);
const chain = await AuditChain.open(new Database(path), key);

port.on('message', (text: string) => {
  const entries = JSON.parse(text) as Entry[];
  chain.append(entries).then(
    () => port.postMessage({ left: 0 } satisfies AuditThreadAnswer),
    (error: Error) => port.postMessage({ left: entries.length, problem: error.message } satisfies AuditThreadAnswer),
  );
});
