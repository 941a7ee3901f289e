import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { allPages, findBundle, pagesOf, toolPath, type FoundTool } from '../catalog-client.ts';
import { collect, define, group, type Setting } from '../define.ts';
import { harmless, oneLine } from '../output.ts';

export function addToolCommands(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'tools [query]',
    summary: 'list the tools, or search them (typos forgiven)',
    options: [
      new Option('--all', 'also those that are switched off'),
      new Option('--bundle <slug>', 'only of this bundle; may be repeated').argParser(collect),
      new Option('--tag <tag>', 'only with this tag; may be repeated').argParser(collect),
    ],
    examples: ['oubliette tools', 'oubliette tools hsah', 'oubliette tools --bundle text --json'],
    run: listTools,
  });
  const tool = group(setting, 'tool', 'make, show and switch single tools');
  define(setting, tool, {
    usage: 'create <bundle> <slug> <version> <body>',
    summary: 'store a new version of a tool; the body is JSON, @file or -',
    examples: [
      `oubliette tool create first shade v1 '{"displayName":"Shade","isEnabled":true,"type":"function","functionImpl":{"func":"demo.foo"},"argSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}'`,
      'oubliette tool create weather current v2 @current.json',
    ],
    async run(cli, [bundle, slug, version, body]) {
      const stored = await cli.jsonArgument(body, 'the tool');
      const tool = await onTool<FoundTool>(cli, 'PUT', bundle, slug, version, stored);
      cli.print(tool, () => `Stored ${tool.name} ${tool.version}.`);
    },
  });
  define(setting, tool, {
    usage: 'show <bundle> <slug> <version>',
    summary: 'print one version of a tool',
    examples: ['oubliette tool show paint shade v1'],
    async run(cli, [bundle, slug, version]) {
      const tool = await onTool<FoundTool>(cli, 'GET', bundle, slug, version);
      cli.print(tool, () => cli.readable(tool));
    },
  });
  for (const [verb, isEnabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    define(setting, tool, {
      usage: `${verb} <bundle> <slug> <version>`,
      summary: `switch a tool ${isEnabled ? 'on' : 'off'}`,
      examples: [`oubliette tool ${isEnabled ? 'enable' : 'disable'} paint shade v1`],
      async run(cli, [bundle, slug, version]) {
        const tool = await onTool<FoundTool>(cli, 'PATCH', bundle, slug, version, { isEnabled });
        cli.print(tool, () => `${tool.name} ${tool.version} is ${tool.isEnabled ? 'on' : 'off'}.`);
      },
    });
  define(setting, tool, {
    usage: 'delete <bundle> <slug> <version>',
    summary: 'delete one version of a tool',
    examples: ['oubliette tool delete paint shade v1'],
    async run(cli, [bundle, slug, version]) {
      await onTool(cli, 'DELETE', bundle, slug, version);
      cli.print({ deleted: true }, () => `Deleted ${slug} ${version} of ${bundle}.`);
    },
  });
}

async function onTool<T>(
  cli: Cli,
  method: string,
  bundle: string,
  slug: string,
  version: string,
  body?: unknown,
): Promise<T> {
  const server = await cli.server();
  return server.json<T>(method, toolPath((await findBundle(server, bundle)).id, slug, version), { body });
}

async function listTools(
  cli: Cli,
  [query]: [string?],
  options: { all?: boolean; bundle?: string[]; tag?: string[] },
): Promise<void> {
  const server = await cli.server();
  const includeDisabled = String(options.all === true);
  const bundles = await Promise.all((options.bundle ?? []).map((ref) => findBundle(server, ref)));
  if (query !== undefined) {
    const isWanted = (tool: FoundTool): boolean =>
      (!options.bundle || bundles.some((each) => each.id === tool.bundleID)) &&
      (!options.tag || options.tag.some((tag) => tool.tags?.includes(tag)));
    const found: FoundTool[] = [];
    const pages = pagesOf<FoundTool>(
      server,
      '/tools/tools/search',
      { q: query, includeDisabled, pageSize: '100' },
      'tools',
    );
    for await (const page of pages) {
      found.push(...page.filter(isWanted));
      if (found.length > mostFound) break;
    }
    const tools = found.slice(0, mostFound);
    cli.print({ tools }, () => (tools.length === 0 ? `Nothing matches ${query}.` : ranked(cli, tools)));
    if (found.length > mostFound) cli.note(`These are the best ${mostFound}. Say more to find others.`);
    return;
  }
  const filter: Record<string, string> = { includeDisabled, recommendedPageSize: '256' };
  if (options.tag) filter['tags'] = options.tag.join(',');
  if (options.bundle) filter['bundleIDs'] = bundles.map((each) => each.id).join(',');
  const tools = await allPages<FoundTool>(server, '/tools/tools', filter, 'tools');
  cli.print({ tools }, () => (tools.length === 0 ? 'There are no such tools.' : byBundle(cli, tools)));
}

/** More are no help to a person who looks for one. */
const mostFound = 50;

function byBundle(cli: Cli, tools: FoundTool[]): string {
  const lines: string[] = [];
  const slugs = [...new Set(tools.map((tool) => tool.bundleSlug))].sort();
  const longest = Math.min(40, Math.max(...tools.map((tool) => tool.name.length)));
  for (const slug of slugs) {
    lines.push(cli.paint('bold', slug));
    for (const tool of tools.filter((each) => each.bundleSlug === slug))
      lines.push(`  ${row(cli, tool, longest, cli.room - 2)}`);
  }
  return lines.join('\n');
}

function ranked(cli: Cli, tools: FoundTool[]): string {
  const longest = Math.min(40, Math.max(...tools.map((tool) => tool.name.length)));
  return tools.map((tool) => row(cli, tool, longest, cli.room)).join('\n');
}

function row(cli: Cli, tool: FoundTool, longest: number, room: number): string {
  const version = tool.version === 'v1' ? '' : ` ${tool.version}`;
  const state = tool.isEnabled
    ? ''
    : cli.paint('yellow', ` off${tool.disabledReason ? `: ${tool.disabledReason}` : ''}`);
  const left = Math.max(16, room - Math.max(longest, tool.name.length + version.length) - 2);
  const about = oneLine(harmless(tool.description ?? tool.displayName), Math.min(100, left));
  return `${cli.paint('cyan', tool.name)}${version}${' '.repeat(Math.max(2, longest + 2 - tool.name.length - version.length))}${about}${state}`;
}
