// Counts tokens in a thread of its own that ends afterwards: the tables it needs are large and needed rarely.
import { parentPort, workerData } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

let sum = 0;
for (const text of workerData as string[]) sum += countTokens(text);
parentPort?.postMessage(sum);
