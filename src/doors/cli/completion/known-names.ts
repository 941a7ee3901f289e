import type { Bundle } from '../../../schema/index.ts';
import { allPages, listBundles, type FoundTool } from '../catalog-client.ts';
import type { Cli } from '../cli.ts';
import type { Word, Written } from './next-words.ts';

type Row = Record<string, string | undefined>;

/** The names of one kind that the running server knows; fails like every command when there is none. */
export async function knownNames(cli: Cli, { kind, start, given }: Written): Promise<Word[]> {
  const rows = async (tool: string, key: string, word: string, about?: string): Promise<Word[]> =>
    (await cli.rows<Row>(tool, key)).map((row) => ({ word: row[word]!, about: about && row[about] }));
  switch (kind) {
    case 'tool':
      return (await toolsOf(cli, couldHold(start))).map((tool) => ({ word: tool.name, about: tool.description }));
    case 'slug':
    case 'version':
      return (await toolsOf(cli, (bundle) => bundle.slug === given['bundle']))
        .filter((tool) => kind === 'slug' || tool.slug === given['slug'])
        .map((tool) => ({ word: tool[kind], about: tool.displayName }));
    case 'bundle':
      return (await listBundles(await cli.server())).map((each) => ({ word: each.slug, about: each.displayName }));
    case 'agent':
      return agentsOf(cli);
    case 'project':
      return rows('project_list', 'projects', 'name', 'description');
    case 'session':
      return rows('session_list', 'sessions', 'id', 'status');
    case 'server':
      return rows('server_list', 'servers', 'name', 'state');
    case 'secret':
      return rows('secret_list', 'secrets', 'name');
    case 'token':
      return rows('token_list', 'tokens', 'id', 'name');
    default:
      return [];
  }
}

async function agentsOf(cli: Cli): Promise<Word[]> {
  const { settings } = await cli.call<{ settings: { agents: Record<string, unknown> } }>('settings_get');
  const { default: _, ...known } = settings.agents;
  return [...new Set(['embedded', ...Object.keys(known)])].map((word) => ({ word }));
}

/** The tools of some bundles: a large catalog is not read for one name. */
async function toolsOf(cli: Cli, isWanted: (bundle: Bundle) => boolean): Promise<FoundTool[]> {
  const server = await cli.server();
  const bundleIDs = (await listBundles(server)).filter(isWanted).map((each) => each.id);
  if (bundleIDs.length === 0) return [];
  const query = { bundleIDs: bundleIDs.join(','), includeDisabled: 'true', recommendedPageSize: '256' };
  return allPages<FoundTool>(server, '/tools/tools', query, 'tools');
}

/** A tool's name begins with that of its bundle. */
const couldHold =
  (start: string) =>
  ({ slug }: Bundle): boolean => {
    const prefix = `${slug.replaceAll('-', '_')}_`;
    return prefix.startsWith(start) || start.startsWith(prefix);
  };
