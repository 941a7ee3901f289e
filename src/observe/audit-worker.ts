import { parentPort, workerData } from 'node:worker_threads';
import { Database } from '../store/index.ts';
import { AuditChain, type Entry } from './audit-chain.ts';
import type { AuditThreadData } from './audit-thread.ts';

const port = parentPort;
if (!port) throw new Error('audit-worker runs as a worker thread only');
const { path, key } = workerData as AuditThreadData;
const chain = await AuditChain.open(new Database(path), key);

port.on('message', (entries: string) => {
  chain.append(JSON.parse(entries) as Entry[]).then(
    () => port.postMessage(null),
    (error: unknown) => port.postMessage(error instanceof Error ? error.message : String(error)),
  );
});
