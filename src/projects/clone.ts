import { randomBytes } from 'node:crypto';
import { lchown, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { entryPoint } from '../entry.ts';
import { asFailure, fail } from '../schema/index.ts';
import { splitPath, walkTo } from '../store/index.ts';

const maxAnswerBytes = 64 * 1024 * 1024;
const withinMs = 120_000;

export interface CloneOrder {
  dir: string;
  url: string;
  ref?: string;
}
export type CloneAnswer = { commit: string } | { error: string };
export type Fetched = { id: number } & (
  { url: string; status: number; headers: Record<string, string>; body: Uint8Array } | { error: string }
);
interface Wanted {
  id: number;
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: Uint8Array;
}

/** The only way out for a clone: throws host.not_allowed for what the project's egress does not list. */
export type CloneFetch = (
  url: string,
  init: { method: string; headers: Record<string, string>; body?: Uint8Array; signal: AbortSignal },
) => Promise<{
  url: URL;
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: AsyncIterable<Uint8Array>;
}>;

/**
 * Puts the newest commit of a repository into a new folder of a workspace. It is made beside the workspace and moved
 * in when it is whole. Throws request.invalid, host.not_allowed, or source.unreachable with git's own reason.
 */
export async function cloneInto(
  root: string,
  wish: { url: string; ref?: string; path: string },
  fetch: CloneFetch,
): Promise<{ commit: string }> {
  const parts = splitPath(wish.path);
  if (parts.length === 0) throw fail('request.invalid', { reason: 'path must name a new folder' });
  const temp = join(dirname(root), `.${randomBytes(6).toString('hex')}.clone.tmp`);
  const stop = AbortSignal.timeout(withinMs);
  try {
    await mkdir(temp, { mode: 0o700 });
    const commit = await runWorker(
      { dir: temp, url: wish.url, ...(wish.ref !== undefined && { ref: wish.ref }) },
      fetch,
      stop,
    );
    await giveAll(temp, await stat(root));
    await moveInto(root, parts, temp);
    return { commit };
  } finally {
    await rm(temp, { recursive: true, force: true });
  }
}

async function runWorker(order: CloneOrder, fetch: CloneFetch, stop: AbortSignal): Promise<string> {
  const worker = new Worker(entryPoint('projects/clone-worker'), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  });
  let refusal: unknown;
  try {
    return await new Promise<string>((resolve, reject) => {
      stop.addEventListener('abort', () => reject(unreachable(order.url, `it took longer than ${withinMs / 1000} s`)));
      worker.on('error', (error: unknown) => reject(unreachable(order.url, (error as Error).message)));
      worker.on('exit', () => reject(unreachable(order.url, 'the clone ended without an answer')));
      worker.on('message', (message: CloneAnswer | Wanted) => {
        if ('commit' in message) return resolve(message.commit);
        if ('error' in message) return reject(refusal ?? unreachable(order.url, message.error));
        fetchFor(message, fetch, stop).then(
          (fetched) => worker.postMessage(fetched),
          (error: unknown) => {
            refusal = error;
            worker.postMessage({ id: message.id, error: asFailure(error).message });
          },
        );
      });
    });
  } finally {
    await worker.terminate();
  }
}

async function fetchFor(
  { id, url, method, headers, body }: Wanted,
  fetch: CloneFetch,
  signal: AbortSignal,
): Promise<Fetched> {
  const answer = await fetch(url, { method, headers, signal, ...(body && { body }) });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    size += chunk.length;
    if (size > maxAnswerBytes)
      throw fail('response.too_large', { message: `The repository is larger than ${maxAnswerBytes} bytes.` });
    chunks.push(chunk);
  }
  const plain = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value ?? '')]));
  return { id, url: answer.url.href, status: answer.status, headers: plain, body: Buffer.concat(chunks) };
}

async function moveInto(root: string, parts: string[], from: string): Promise<void> {
  const place = await walkTo(root, parts);
  try {
    // A folder can be renamed only onto an empty one.
    await rename(from, place.path);
  } catch (error) {
    throw fail('request.invalid', { reason: `${parts.join('/')} exists already` }, { cause: error });
  } finally {
    await place.parent.close();
  }
}

/** Nobody but us can reach the folder yet, so that nothing can be swapped for a link meanwhile. */
async function giveAll(folder: string, owner: { uid: number; gid: number }): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await lchown(folder, owner.uid, owner.gid);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    await lchown(join(entry.parentPath, entry.name), owner.uid, owner.gid);
}

function unreachable(url: string, reason: string): Error {
  return fail('source.unreachable', { what: url, reason });
}
