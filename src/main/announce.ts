import { readFile, rm } from 'node:fs/promises';
import type { ServerInfo } from '../schema/index.ts';
import { replaceFile } from '../store/index.ts';

const lookEveryMs = 1_000;

/**
 * Writes `server.json`, and takes it away at the end. Several servers may run on one home: the last one started is
 * named, and when it ends one that still runs takes its place.
 */
export async function announce(path: string, info: ServerInfo): Promise<() => Promise<void>> {
  const mine = `${JSON.stringify(info)}\n`;
  await replaceFile(path, mine);
  let looking = Promise.resolve();
  const timer = setInterval(() => {
    looking = looking.then(async () => {
      if (!isTaken(await textOf(path))) await replaceFile(path, mine);
    });
    looking = looking.catch(() => {});
  }, lookEveryMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await looking;
    if ((await textOf(path)) === mine) await rm(path, { force: true });
  };
}

const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

/** Whether a server that still runs is named. */
function isTaken(text: string): boolean {
  try {
    return process.kill((JSON.parse(text) as ServerInfo).pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
