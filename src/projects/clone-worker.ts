// Clones a repository in a thread of its own: unpacking is work. All it may reach is what its parent fetches for it.
import fs from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import git, { type GitHttpRequest, type GitHttpResponse } from 'isomorphic-git';
import type { CloneAnswer, CloneOrder, Fetched } from './clone.ts';

const port = parentPort!;
const { dir, url, ref } = workerData as CloneOrder;
const waiting = new Map<number, (fetched: Fetched) => void>();
let count = 0;

port.on('message', (fetched: Fetched) => {
  waiting.get(fetched.id)?.(fetched);
  waiting.delete(fetched.id);
});

async function request({ url: target, method = 'GET', headers = {}, body }: GitHttpRequest): Promise<GitHttpResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  const id = count++;
  const answer = new Promise<Fetched>((resolve) => waiting.set(id, resolve));
  port.postMessage({ id, url: target, method, headers, body: chunks.length > 0 ? Buffer.concat(chunks) : undefined });
  const fetched = await answer;
  if ('error' in fetched) throw new Error(fetched.error);
  return {
    url: fetched.url,
    method,
    headers: fetched.headers,
    statusCode: fetched.status,
    statusMessage: '',
    body: once(fetched.body),
  };
}

async function* once(bytes: Uint8Array): AsyncIterableIterator<Uint8Array> {
  yield bytes;
}

let answer: CloneAnswer;
try {
  await git.clone({
    fs,
    http: { request },
    dir,
    url,
    depth: 1,
    singleBranch: true,
    noTags: true,
    ...(ref !== undefined && { ref }),
  });
  answer = { commit: await git.resolveRef({ fs, dir, ref: 'HEAD' }) };
} catch (error) {
  answer = { error: error instanceof Error ? error.message : String(error) };
}
port.postMessage(answer);
port.close();
