import type { CatalogGate, ToolKey } from '../../gate/index.ts';
import { answerPlain, type PlainDeps } from './plain-answer.ts';
import type { PlainPosts } from './plain-posts.ts';

export interface PlainToolDeps extends PlainDeps {
  catalogGate: CatalogGate;
  posts: PlainPosts;
}

const toolPath = /^\/tools\/bundles\/([0-9a-f-]{36})\/tools\/([\w-]{1,64})\/version\/([\w.-]{1,64})$/;

/** New tool versions are stored before the router sees them, and answered as it would answer them. */
export function plainTools(deps: PlainToolDeps): void {
  deps.posts.takePuts((path) => {
    const key = keyIn(path);
    return key && ((post) => void answerPlain(post, 201, deps, (actor, body) => stored(deps, actor, key, body)));
  });
}

const stored = async (deps: PlainToolDeps, ...put: Parameters<CatalogGate['putTool']>): Promise<string> =>
  JSON.stringify(await deps.catalogGate.putTool(...put));

function keyIn(path: string): ToolKey | undefined {
  const [, bundleID, slug, version] = toolPath.exec(path) ?? [];
  return bundleID && slug && version ? { bundleID, slug, version } : undefined;
}
