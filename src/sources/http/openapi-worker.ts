// The thread that reads an OpenAPI document: a large one in YAML takes many seconds, which nobody else should wait for.
import { parentPort, workerData } from 'node:worker_threads';
import { importOpenApi, parseDocument, type ImportedTool, type ImportOptions } from './openapi/index.ts';

const atOnce = 100;
const { text, options } = workerData as { text: string; options: ImportOptions };
try {
  const { bundle, report, tools } = importOpenApi(parseDocument(text), options);
  let piece: ImportedTool[] = [];
  // In pieces: to take one in is work for those who wait.
  for (const tool of tools)
    if (piece.push(tool) === atOnce) {
      parentPort?.postMessage({ tools: piece });
      piece = [];
    }
  parentPort?.postMessage({ tools: piece });
  parentPort?.postMessage({ bundle, report });
} catch (error) {
  parentPort?.postMessage({ refused: (error as Error).message });
}
