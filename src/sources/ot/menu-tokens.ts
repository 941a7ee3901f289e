import type { Actor, Directory } from '../../schema/index.ts';
import { listedTool } from './reach.ts';

export interface MenuDeps {
  directory: Directory;
  /** Tokens of texts, as models count them. */
  countTokens: (texts: string[]) => Promise<number>;
}

const maxMeasured = 200;
const keepMs = 60_000;
const keptFor = new WeakMap<Directory, Map<string, { at: number; tokens: Promise<number> }>>();

/**
 * Tokens that the menus of all tools in reach would cost a client, had it to list them instead of `run` alone. Of
 * large catalogs an even sample is measured and scaled up. Kept for a minute per reach.
 */
export function hiddenMenuTokens(deps: MenuDeps, actor: Actor): Promise<number> {
  const kept = keptFor.get(deps.directory) ?? new Map<string, { at: number; tokens: Promise<number> }>();
  keptFor.set(deps.directory, kept);
  const key = JSON.stringify([actor.level, actor.bundles ?? null]);
  const found = kept.get(key);
  if (found && Date.now() - found.at < keepMs) return found.tokens;
  const tokens = measure(deps, actor);
  kept.set(key, { at: Date.now(), tokens });
  tokens.catch(() => kept.delete(key));
  return tokens;
}

async function measure({ directory, countTokens }: MenuDeps, actor: Actor): Promise<number> {
  const all = directory.packs(actor).flatMap((pack) => pack.functions.map((fn) => ({ pack, fn })));
  const every = Math.max(1, all.length / maxMeasured);
  const texts: string[] = [];
  let looked = 0;
  for (let at = 0; at < all.length; at += every) {
    const { pack, fn } = all[Math.floor(at)]!;
    const tool = await listedTool(directory, actor, pack, fn);
    looked++;
    if (tool)
      texts.push(
        JSON.stringify({ name: tool.view.name, description: tool.view.description, inputSchema: tool.view.argSchema }),
      );
  }
  if (texts.length === 0) return 0;
  return Math.round((await countTokens(texts)) * (all.length / looked));
}
