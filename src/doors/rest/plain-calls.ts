import type { Gate, ToolRef } from '../../gate/index.ts';
import { argsOf, callText, whenGone } from './answer-call.ts';
import { answerPlain, type PlainDeps } from './plain-answer.ts';
import type { PlainPost, PlainPosts } from './plain-posts.ts';

export interface PlainCallDeps extends PlainDeps {
  gate: Gate;
  posts: PlainPosts;
}

const exactPath = /^\/tools\/bundles\/([0-9a-f-]{36})\/tools\/([\w-]{1,64})\/version\/([\w.-]{1,64})\/invoke$/;
const namePath = /^\/call\/(\w{1,200})$/;

/** Calls that ask for one answer are served before the router sees them, and answered as it would answer them. */
export function plainCalls(deps: PlainCallDeps): void {
  deps.posts.take((path) => {
    const ref = refIn(path);
    return ref === undefined ? undefined : (post) => answer(post, ref, deps);
  });
}

function refIn(path: string): ToolRef | undefined {
  const [, bundleID, slug, version] = exactPath.exec(path) ?? [];
  if (bundleID && slug && version) return { bundleID, slug, version };
  return namePath.exec(path)?.[1];
}

function answer(post: PlainPost, ref: ToolRef, deps: PlainCallDeps): void {
  const { request, response } = post;
  if (request.headers.accept?.includes('text/event-stream')) return post.route();
  void answerPlain(post, 200, deps, async (actor, body, requestId) => {
    const options = { signal: () => whenGone(response), requestId };
    return callText(await deps.gate.call(actor, ref, argsOf(body), options));
  });
}
