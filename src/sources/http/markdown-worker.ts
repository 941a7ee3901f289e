// The thread that turns HTML into Markdown: a large page takes seconds, which nobody else should wait for.
import { parentPort } from 'node:worker_threads';
import { toMarkdown } from './to-markdown.ts';

parentPort?.on('message', ({ id, html }: { id: number; html: string }) =>
  parentPort?.postMessage({ id, markdown: toMarkdown(html) }),
);
