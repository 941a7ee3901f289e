import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Database } from '../store/index.ts';
import { AuditChain } from './audit-chain.ts';
import type { AuditThreadAnswer, AuditThreadData } from './audit-thread.ts';
import { entriesIn } from './waiting-entries.ts';

const background = 10;
const port = parentPort;
if (!port) throw new Error('audit-worker runs as a worker thread only');
const { path, key } = workerData as AuditThreadData;
// Nobody waits for these writes, so calls that are being answered go first.
setPriority(background);
const chain = await AuditChain.open(new Database(path), key);

port.on('message', (portions: string[]) => void append(portions).then((answer) => port.postMessage(answer)));

async function append(portions: readonly string[]): Promise<AuditThreadAnswer> {
  let left = portions.length;
  try {
    for (const portion of portions) {
      await chain.append(entriesIn(portion));
      left--;
    }
    return { left };
  } catch (error) {
    return { left, problem: (error as Error).message };
  }
}
