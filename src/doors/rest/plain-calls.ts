import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Gate, ToolRef } from '../../gate/index.ts';
import { asFailure, atEndOfTurn, newId, type Actor } from '../../schema/index.ts';
import { argsOf, callText, whenGone } from './answer-call.ts';
import { parseBody } from './json-body.ts';
import { errorAnswer, type ErrorSink } from './error-answer.ts';
import type { PlainPost, PlainPosts } from './plain-posts.ts';

export interface PlainCallDeps extends ErrorSink {
  gate: Gate;
  posts: PlainPosts;
  /** Who holds the token of a request; throws auth.required or auth.invalid. */
  byToken(request: { headers: IncomingHttpHeaders }): Promise<Actor>;
}

const exactPath = /^\/tools\/bundles\/([0-9a-f-]{36})\/tools\/([\w-]{1,64})\/version\/([\w.-]{1,64})\/invoke$/;
const namePath = /^\/call\/(\w{1,200})$/;

/** Calls that ask for one answer are served before the router sees them, and answered as it would answer them. */
export function plainCalls(deps: PlainCallDeps): void {
  deps.posts.take((path) => {
    const ref = refIn(path);
    return ref === undefined ? undefined : (post) => void answer(post, ref, deps);
  });
}

function refIn(path: string): ToolRef | undefined {
  const [, bundleID, slug, version] = exactPath.exec(path) ?? [];
  if (bundleID && slug && version) return { bundleID, slug, version };
  return namePath.exec(path)?.[1];
}

async function answer(post: PlainPost, ref: ToolRef, deps: PlainCallDeps): Promise<void> {
  const { request, response } = post;
  if (request.headers.accept?.includes('text/event-stream')) return post.route();
  let actor: Actor;
  try {
    actor = await deps.byToken(request);
  } catch {
    return post.route();
  }
  const read = post.body();
  const body = read instanceof Buffer ? read : await read;
  if (body === undefined) return;
  const requestId = newId('req');
  try {
    const options = { signal: () => whenGone(response), requestId };
    send(response, 200, callText(await deps.gate.call(actor, ref, argsOf(parseBody(body)), options)), []);
  } catch (error) {
    const { status, headers, body: text } = errorAnswer(asFailure(error), requestId, request.url ?? '', deps);
    send(response, status, JSON.stringify(text), Object.entries(headers).flat());
  }
}

function send(response: ServerResponse, status: number, text: string, headers: readonly string[]): void {
  atEndOfTurn(() => {
    if (response.destroyed) return;
    const length = String(Buffer.byteLength(text));
    response.writeHead(status, [...headers, 'content-type', 'application/json; charset=utf-8', 'content-length', length]);
    response.end(text);
  });
}
