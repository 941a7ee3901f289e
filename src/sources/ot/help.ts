import { exampleInvocation, pythonLiteral, pythonType, type Param } from '../../code/index.ts';
import { functionName, type Actor, type PackEntry, type Settings } from '../../schema/index.ts';
import { instructionsFor, type DiscoveryDeps, type Info } from './discovery.ts';
import { searchAll, type FindTools, type Found } from './help-search.ts';
import { brief, bulleted, configuredName, listedTool, listedTools, sourceOf, type Listed } from './reach.ts';
import { snippetText } from './snippet-text.ts';

export interface HelpDeps extends DiscoveryDeps {
  find?: FindTools;
}

/** What comes later in a query finds nothing more, and every word takes its time. */
const maxQueryLength = 200;

/** Packs whose documentation lies under another name. */
const docSlugs: Record<string, string> = {
  brave: 'brave-search',
  code: 'code-search',
  db: 'database',
  ground: 'grounding-search',
  llm: 'transform',
  web: 'web-fetch',
};

/** `ot.help`: an overview, one thing in detail, or what comes near a query. */
export async function help(deps: HelpDeps, actor: Actor, query: string, info: Info): Promise<unknown> {
  const wanted = query.trim();
  if (wanted === '') return overview;
  if (info !== 'list') {
    const exact = await exactHelp(deps, actor, wanted, info);
    if (exact !== undefined) return exact;
  }
  const sought = wanted.slice(0, maxQueryLength);
  const found = await searchAll(deps, actor, sought);
  if (info === 'list')
    return [...found.tools, ...found.packs, ...found.snippets, ...found.aliases].map(({ name }) => name);
  return searchText(sought, found, info);
}

async function exactHelp(deps: HelpDeps, actor: Actor, query: string, info: Info): Promise<string | undefined> {
  const settings = deps.settings();
  const tool = await exactTool(deps, actor, query);
  if (tool) return toolHelp(tool, settings, info);
  const pack =
    deps.directory.pack(actor, query) ??
    deps.directory.packs(actor).find((each) => configuredName(each, settings) === query);
  if (pack) return packHelp(deps, actor, pack, info);
  const snippet = query.startsWith('$') ? query.slice(1) : undefined;
  if (snippet !== undefined && Object.hasOwn(settings.snippets, snippet)) return snippetHelp(snippet, settings);
  if (Object.hasOwn(settings.aliases, query)) return aliasHelp(deps, actor, query, settings.aliases[query]!);
  return undefined;
}

/** `brave.search`, or the name it has outside of programs: `brave_search`. */
async function exactTool({ directory }: HelpDeps, actor: Actor, query: string): Promise<Listed | undefined> {
  const dot = query.lastIndexOf('.');
  if (dot > 0) {
    const pack = directory.pack(actor, query.slice(0, dot));
    return pack && listedTool(directory, actor, pack, functionName(query.slice(dot + 1)));
  }
  for (const pack of directory.packs(actor)) {
    if (!query.startsWith(`${pack.name.replace(/_$/, '')}_`)) continue;
    const [found] = await listedTools(directory, actor, pack, (name) => name.replace('.', '_') === query);
    if (found) return found;
  }
  return undefined;
}

function toolHelp({ name, pack, view, info }: Listed, settings: Settings, level: Info): string {
  const args = info.params.map(
    (param) => `- ${param.name} (${param.type}, ${necessity(param)}): ${param.description ?? '(no description)'}`,
  );
  const example =
    view.example ??
    `${name}(${info.params
      .filter((param) => param.isRequired)
      .map((param) => `${param.name}=...`)
      .join(', ')})`;
  const more = [
    `Source: ${sourceOf(pack, settings)}`,
    `Level: ${view.level}`,
    `Version: ${view.version}`,
    `Name outside of programs: ${view.name}`,
    ...(view.tags?.length ? [`Tags: ${view.tags.join(', ')}`] : []),
    ...(view.outputSchema === undefined ? [] : [`Output schema: ${JSON.stringify(view.outputSchema)}`]),
    `Argument schema: ${JSON.stringify(view.argSchema)}`,
  ];
  return [
    `# ${name}`,
    '',
    view.description ?? '(no description)',
    '',
    '## Signature',
    info.signature,
    '',
    '## Arguments',
    ...(args.length > 0 ? args : ['(none)']),
    '',
    '## Returns',
    view.returns ?? pythonType(view.outputSchema),
    '',
    '## Example',
    example,
    '',
    ...(level === 'full' ? ['## Details', ...more, ''] : []),
    `Documentation: ${docUrl(pack, settings)}`,
  ].join('\n');
}

function necessity(param: Param): string {
  if (param.isRequired) return 'required';
  return param.default ? `default ${pythonLiteral(param.default.value)}` : 'optional';
}

async function packHelp({ directory, settings }: HelpDeps, actor: Actor, pack: PackEntry, info: Info): Promise<string> {
  const instructions = instructionsFor(pack.name, pack.bundle.slug, settings());
  const tools = await listedTools(directory, actor, pack);
  const lines = tools.map(({ name, view, info: { signature } }) =>
    info === 'full'
      ? `- ${signature}\n  ${(view.description ?? '').trim().replaceAll('\n', '\n  ')}`
      : bulleted(name, view.description),
  );
  return [
    `# ${pack.name}`,
    ...(pack.bundle.description ? ['', brief(pack.bundle.description, 1000)] : []),
    ...(info === 'full' ? ['', `source: ${sourceOf(pack, settings())}`] : []),
    ...(instructions ? ['', instructions] : []),
    '',
    '## Tools',
    ...lines,
    '',
    `Documentation: ${docUrl(pack, settings())}`,
  ].join('\n');
}

function snippetHelp(name: string, { snippets }: Settings): string {
  const definition = snippets[name]!;
  return [
    `# $${name}`,
    '',
    definition.description ?? '(no description)',
    '',
    snippetText(name, definition),
    '',
    `Use it at the start of a line: ${exampleInvocation(name, definition)}`,
  ].join('\n');
}

async function aliasHelp(deps: HelpDeps, actor: Actor, name: string, target: string): Promise<string> {
  const tool = await exactTool(deps, actor, target);
  const usage = tool ? tool.info.signature.replace(tool.name, name) : `${name}(...)`;
  return [
    `# ${name}`,
    '',
    `Alias for: ${target}`,
    '',
    `Usage: ${usage} is the same as ${target}(...)`,
    ...(tool ? ['', brief(tool.view.description)] : []),
    `More: ot.help(query="${target}")`,
  ].join('\n');
}

function docUrl(pack: PackEntry, settings: Settings): string {
  const name = configuredName(pack, settings);
  const base = settings.docs.baseUrl;
  return `${base}${base.endsWith('/') ? '' : '/'}${Object.hasOwn(docSlugs, name) ? docSlugs[name] : name}/`;
}

function searchText(query: string, found: Found, info: Info): string {
  const groups: [string, Found[keyof Found]][] = [
    ['Tools', found.tools],
    ['Packs', found.packs],
    ['Snippets', found.snippets],
    ['Aliases', found.aliases],
  ];
  const filled = groups.filter(([, items]) => items.length > 0);
  if (filled.length === 0)
    return `No matches found for '${query}'. Use ot.tools() or ot.packs() to browse what is available.`;
  const texts = filled.map(([title, items]) =>
    [
      `## ${title}`,
      ...items.map(
        ({ name, text, signature }) => `- ${info === 'full' && signature ? signature : name}${text ? `: ${text}` : ''}`,
      ),
    ].join('\n'),
  );
  return [`# Matches for '${query}'`, ...texts].join('\n\n');
}

const overview = `# Help

## Discovery
- ot.packs() lists packs, ot.tools() lists tools, ot.tools(pattern="search") those whose name contains a text
- ot.help(query="what you need") finds tools, packs, snippets and aliases; ot.help(query="pack.tool") explains one
- ot.snippets(), ot.aliases() list shortcuts; ot.config(), ot.health(), ot.stats(), ot.version() tell about the server
- ot.result(handle="...") reads a large answer that was stored

## Info levels
- info="list": names only
- info="min": names with a short description (default)
- info="full": everything

## Examples
- demo.foo(text="hello") calls a tool; a unique prefix of a keyword is enough
- parallel([("demo.foo", {"text": "a"}), ("demo.bar", {"text": "b"})]) runs many at once
- $snippet key=value at the start of a line expands a snippet

## Tips
- The last expression is the answer; print() output comes before it
- Filter and shape results in the program: only what you return costs context
- Errors can be caught with try / except`;
