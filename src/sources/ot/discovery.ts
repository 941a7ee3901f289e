import { type Actor, type Directory, type Settings } from '../../schema/index.ts';
import { brief, bulleted, contains, listedPacks, listedTools, sourceOf, type Listed } from './reach.ts';
import { snippetText } from './snippet-text.ts';

export type Info = 'list' | 'min' | 'full';

export interface DiscoveryDeps {
  directory: Directory;
  settings: () => Settings;
}

interface Query {
  pattern: string;
  info: Info;
}

/** `ot.tools`: everything the actor may call, by name. */
export async function tools(
  { directory, settings }: DiscoveryDeps,
  actor: Actor,
  { pattern, info }: Query,
): Promise<unknown[]> {
  const entries: unknown[] = [];
  for (const pack of directory.packs(actor))
    for (const tool of await listedTools(directory, actor, pack, (name) => contains(name, pattern)))
      entries.push(entryOf(tool, info, settings()));
  return entries;
}

function entryOf(tool: Listed, info: Info, settings: Settings): unknown {
  if (info === 'list') return tool.name;
  if (info === 'min') return { name: tool.name, description: brief(tool.view.description) };
  return fullEntry(tool, settings);
}

function fullEntry({ name, pack, view, info }: Listed, settings: Settings): Record<string, unknown> {
  return {
    name,
    signature: info.signature,
    description: view.description ?? '',
    source: sourceOf(pack, settings),
    ...(info.params.length > 0 && {
      args: info.params.map((param) => `${param.name}: ${param.description ?? '(no description)'}`),
    }),
    ...(view.returns !== undefined && { returns: view.returns }),
    ...(view.example !== undefined && { example: view.example }),
  };
}

/** `ot.packs`: bundles as programs see them. */
export async function packs(
  { directory, settings }: DiscoveryDeps,
  actor: Actor,
  { pattern, info }: Query,
): Promise<unknown> {
  const found = (await listedPacks(directory, actor)).filter(({ pack }) => contains(pack.name, pattern));
  if (info === 'list') return found.map(({ pack }) => pack.name);
  if (info === 'min')
    return found.map(({ pack, count }) => ({
      name: pack.name,
      source: pack.bundle.kind === 'server' ? 'proxy' : 'local',
      tool_count: count,
    }));
  if (found.length === 0) return `No packs match '${pattern}'.`;
  const texts: string[] = [];
  for (const { pack } of found) {
    const source = pack.bundle.kind === 'server' ? 'proxy' : 'local';
    const instructions = instructionsFor(pack.name, pack.bundle.slug, settings());
    const lines = (await listedTools(directory, actor, pack)).map(({ name, view }) => bulleted(name, view.description));
    texts.push(
      [
        `# ${pack.name}`,
        `source: ${source}`,
        ...(instructions ? ['', instructions] : []),
        '',
        '## Tools',
        ...lines,
      ].join('\n'),
    );
  }
  return texts.join('\n\n');
}

/** What prompts.yaml says about a pack, under its name in programs or its own. */
export function instructionsFor(pack: string, slug: string, { prompts }: Settings): string | undefined {
  for (const key of [pack, slug, slug.replaceAll('-', '_')])
    if (Object.hasOwn(prompts, key)) return prompts[key]!.trim();
  return undefined;
}

/** `ot.aliases`: other names for functions. */
export function aliases({ settings }: Pick<DiscoveryDeps, 'settings'>, { pattern, info }: Query): unknown[] {
  const found = Object.entries(settings().aliases).filter(
    ([name, target]) => contains(name, pattern) || contains(target, pattern),
  );
  if (info === 'list') return found.map(([name]) => name);
  return found.map(([name, target]) => (info === 'min' ? `${name} -> ${target}` : { name, target }));
}

/** `ot.snippets`: named pieces of program. */
export function snippets({ settings }: Pick<DiscoveryDeps, 'settings'>, { pattern, info }: Query): unknown {
  const found = Object.entries(settings().snippets).filter(
    ([name, { description }]) => contains(name, pattern) || contains(description ?? '', pattern),
  );
  if (info === 'list') return found.map(([name]) => name);
  if (info === 'min')
    return found.map(([name, { description }]) => `${name}: ${brief(description) || '(no description)'}`);
  if (found.length === 0) return `No snippets match '${pattern}'.`;
  return found.map(([name, definition]) => snippetText(name, definition)).join('\n\n');
}

/** `ot.config`: what a program can use beyond packs. */
export function config({ settings }: Pick<DiscoveryDeps, 'settings'>): Record<string, unknown> {
  const { aliases: names, snippets: pieces, servers } = settings();
  const described = Object.entries(pieces).map(([name, { description }]) => [name, { description: description ?? '' }]);
  return { aliases: names, snippets: Object.fromEntries(described), servers: Object.keys(servers) };
}
