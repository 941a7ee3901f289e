import { Worker } from 'node:worker_threads';
import { fail } from '../../schema/index.ts';

/** Converts pages: small ones at once, others in a thread that can be ended. */
export interface MarkdownMaker {
  convert(html: string, signal: AbortSignal): Promise<string>;
  close(): Promise<void>;
}

const smallPage = 20_000;
const longestMs = 20_000;

/** `workerPath` is the program of the thread, which starts with the first page that needs it. */
export function markdownMaker(workerPath: string): MarkdownMaker {
  let worker: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let count = 0;

  function convertNow(html: string, signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    worker ??= new Worker(workerPath, { resourceLimits: { maxOldGenerationSizeMb: 256 }, env: {} });
    const mine = worker;
    mine.unref();
    const id = ++count;
    return new Promise<string>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        mine.removeAllListeners();
      };
      const end = (error: Error): void => {
        settle();
        worker = undefined;
        void mine.terminate();
        reject(error);
      };
      const stop = (): void => end(signal.reason as Error);
      const timer = setTimeout(
        () => end(fail('tool.failed', { reason: 'The page is too large to be made Markdown. Ask for text.' })),
        longestMs,
      );
      signal.addEventListener('abort', stop, { once: true });
      mine.on('message', (answer: { id: number; markdown: string }) => {
        if (answer.id !== id) return;
        settle();
        resolve(answer.markdown);
      });
      mine.once('error', () =>
        end(fail('tool.failed', { reason: 'The page could not be made Markdown. Ask for text.' })),
      );
      mine.postMessage({ id, html });
    });
  }

  return {
    async convert(html, signal) {
      if (html.length <= smallPage) return (await import('./to-markdown.ts')).toMarkdown(html);
      const turn = last.then(() => convertNow(html, signal));
      last = turn.catch(() => {});
      return turn;
    },
    async close() {
      await worker?.terminate();
    },
  };
}
