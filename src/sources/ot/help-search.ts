import type { Actor } from '../../schema/index.ts';
import type { DiscoveryDeps } from './discovery.ts';
import { brief, listedTool, listedTools } from './reach.ts';
import { similarity } from './similarity.ts';

/** Tools that fit a text, best first, by pack and function. Without it small catalogs are looked through. */
export type FindTools = (
  actor: Actor,
  text: string,
  limit: number,
) => Promise<{ pack: string; fn: string; score: number }[]>;

export interface Hit {
  name: string;
  text: string;
  signature?: string;
  score: number;
}

export interface Found {
  tools: Hit[];
  packs: Hit[];
  snippets: Hit[];
  aliases: Hit[];
}

const maxTools = 10;
const maxOthers = 5;
const least = 0.6;

/** What comes near a query, by kind, best first. */
export async function searchAll(
  deps: DiscoveryDeps & { find?: FindTools },
  actor: Actor,
  query: string,
): Promise<Found> {
  const settings = deps.settings();
  const packs = deps.directory.packs(actor).map((pack): Hit => {
    const text = brief(pack.bundle.description ?? pack.bundle.displayName);
    return { name: pack.name, text, score: score(query, pack.name, text) };
  });
  const snippets = Object.entries(settings.snippets).map(([name, { description }]): Hit => {
    return { name: `$${name}`, text: brief(description), score: score(query, name, description ?? '') };
  });
  const aliases = Object.entries(settings.aliases).map(([name, target]): Hit => {
    return { name, text: target, score: score(query, name, target) };
  });
  return {
    tools: await searchTools(deps, actor, query),
    packs: best(packs, maxOthers),
    snippets: best(snippets, maxOthers),
    aliases: best(aliases, maxOthers),
  };
}

async function searchTools(
  { directory, find }: DiscoveryDeps & { find?: FindTools },
  actor: Actor,
  query: string,
): Promise<Hit[]> {
  const hits: Hit[] = [];
  if (find) {
    for (const { pack, fn, score: points } of await find(actor, query, maxTools * 3)) {
      const entry = directory.pack(actor, pack);
      const tool = entry && (await listedTool(directory, actor, entry, fn));
      if (tool)
        hits.push({
          name: tool.name,
          text: brief(tool.view.description),
          signature: tool.info.signature,
          score: points,
        });
    }
    return hits.slice(0, maxTools);
  }
  for (const pack of directory.packs(actor))
    for (const { name, view, info } of await listedTools(directory, actor, pack))
      hits.push({
        name,
        text: brief(view.description),
        signature: info.signature,
        score: score(query, name, view.description ?? ''),
      });
  return best(hits, maxTools);
}

const best = (hits: readonly Hit[], limit: number): Hit[] =>
  hits
    .filter((hit) => hit.score >= least)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, limit);

/** A name counts more than a description; every word of the query should be found somewhere, typos allowed. */
function score(query: string, name: string, description: string): number {
  const words = query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  if (words.length === 0) return 0;
  const spaced = name.replace(/[._$-]+/g, ' ');
  let sum = 0;
  for (const word of words) sum += Math.max(wordScore(word, spaced), wordScore(word, description) * 0.8);
  const whole = name.toLowerCase().includes(query.toLowerCase()) ? 0.2 : 0;
  return sum / words.length + whole;
}

/** Short words must be contained; longer ones may be a typo away. */
function wordScore(word: string, text: string): number {
  if (word.length < 4) return new RegExp(`(?:^|[^\\p{L}\\p{N}])${word}`, 'iu').test(text) ? 1 : 0;
  const points = similarity(word, text.slice(0, 400));
  return points >= 0.75 ? points : 0;
}
