import { Worker } from 'node:worker_threads';
import { fail } from '../../schema/index.ts';
import {
  importOpenApi,
  parseDocument,
  type ApiImport,
  type ImportedTool,
  type ImportOptions,
} from './openapi/index.ts';

/** A document with all its tools. */
export type ReadApi = Omit<ApiImport, 'tools'> & { tools: ImportedTool[] };

/** Reads a document; throws import.invalid, or the signal's reason. */
export type ReadOpenApi = (text: string, options: ImportOptions, signal: AbortSignal) => Promise<ReadApi>;

/** Up to here it takes a moment only. */
const small = { json: 200_000, yaml: 10_000 };

/** Reads small documents at once, each other one in a thread of its own; `workerPath` is the program of that thread. */
export function openApiReader(workerPath: string): ReadOpenApi {
  return async (text, options, signal) => {
    if (text.length <= (text.trimStart().startsWith('{') ? small.json : small.yaml)) {
      const made = importOpenApi(parseDocument(text), options);
      return { ...made, tools: [...made.tools] };
    }
    signal.throwIfAborted();
    const worker = new Worker(workerPath, {
      workerData: { text, options },
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
      env: {},
    });
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([collected(worker), stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
      await worker.terminate();
    }
  };
}

type Message = { tools: ImportedTool[] } | Omit<ApiImport, 'tools'> | { refused: string };

function collected(worker: Worker): Promise<ReadApi> {
  const tools: ImportedTool[] = [];
  return new Promise((resolve, reject) => {
    worker.on('message', (message: Message) => {
      if ('refused' in message) reject(fail('import.invalid', { message: message.refused }));
      else if ('bundle' in message) resolve({ ...message, tools });
      else tools.push(...message.tools);
    });
    worker.on('error', (error) =>
      reject(fail('import.invalid', { reason: 'it needs too much memory to be read' }, { cause: error })),
    );
  });
}
