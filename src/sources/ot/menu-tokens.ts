import type { Actor, Directory, ToolView } from '../../schema/index.ts';
import { breathe, listedTool } from './reach.ts';

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
  if (found && performance.now() - found.at < keepMs) return found.tokens;
  // Reaches are as many as tokens: what is too old is of no use to anyone.
  for (const [each, { at }] of kept) if (performance.now() - at >= keepMs) kept.delete(each);
  const tokens = measure(deps, actor);
  kept.set(key, { at: performance.now(), tokens });
  tokens.catch(() => kept.delete(key));
  return tokens;
}

async function measure({ directory, countTokens }: MenuDeps, actor: Actor): Promise<number> {
  const packs = directory.packs(actor);
  const total = packs.reduce((sum, pack) => sum + pack.size, 0);
  const every = Math.max(1, total / maxMeasured);
  const texts: string[] = [];
  let looked = 0;
  let next = 0;
  let before = 0;
  for (const pack of packs) {
    // Packs between two samples are passed over without being read.
    for (; next < before + pack.size; next += every) {
      looked++;
      const fn = pack.functions[Math.floor(next - before)];
      const tool = fn === undefined ? undefined : await listedTool(directory, actor, pack, fn);
      if (tool) texts.push(menuEntry(tool.view));
    }
    before += pack.size;
    await breathe();
  }
  if (texts.length === 0) return 0;
  return Math.round((await countTokens(texts)) * (total / looked));
}

const menuEntry = ({ name, description, argSchema }: ToolView): string =>
  JSON.stringify({ name, description, inputSchema: argSchema });
