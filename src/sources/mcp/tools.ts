import { argsOf, demandUnconfined, fail, offerTool, type BuiltInBundle, type Call } from '../../schema/index.ts';
import type { ConfigRoom } from '../../config/index.ts';
import type { McpServers } from './servers.ts';

export interface ServerToolsDeps {
  servers: McpServers;
  config: ConfigRoom;
}

const name = { type: 'string', minLength: 1, description: 'Name of the server in config.yaml' } as const;
const texts = { type: 'object', additionalProperties: { type: 'string' } } as const;
const described = {
  command: { type: 'string', description: 'Program to start, for a server that speaks over stdio' },
  args: { type: 'array', items: { type: 'string' }, description: 'Its arguments' },
  env: { ...texts, description: 'Its environment; ${NAME} is filled in from the secrets' },
  cwd: { type: 'string', description: 'The folder it starts in' },
  url: { type: 'string', description: 'Address of a server that speaks over HTTP' },
  transport: { enum: ['stdio', 'http', 'sse'], description: 'How to speak to it, where that is not plain' },
  headers: { ...texts, description: 'HTTP headers; ${NAME} is filled in from the secrets' },
  oauth: { type: 'object', description: 'tokenUrl, clientId, clientSecret, refreshToken, scope' },
  enabled: { type: 'boolean', description: 'False keeps it in the file without connecting' },
  timeoutMs: { type: 'integer', minimum: 1, description: 'How long one call may take' },
  maxConcurrent: { type: 'integer', minimum: 1, description: 'How many calls may run at once' },
} as const;

/** The `server_*` tools: look at upstream MCP servers, add and remove them. */
export function serverTools({ servers, config }: ServerToolsDeps): BuiltInBundle {
  const find = (wanted: string) => {
    const upstream = servers.byName(wanted);
    if (!upstream) throw fail('server.not_found', { ref: wanted });
    return upstream;
  };
  return {
    slug: 'server',
    displayName: 'MCP servers',
    description: 'Upstream MCP servers whose tools are offered here.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'list',
        description:
          'Lists the upstream MCP servers with their state, number of tools, problems and changed definitions.',
        argSchema: argsOf({}),
        level: 'admin',
        returns: '{servers:[{name,bundle,status,transport,protocol,tools,error,warnings,changed_tools}]}',
        example: 'server.list()',
        run: async () => ({ servers: await servers.status() }),
      }),
      offerTool({
        slug: 'add',
        description:
          'Adds or replaces an upstream MCP server in config.yaml. Only from the command line on the machine, unless http.allowRemoteConfig is on.',
        argSchema: argsOf({ name, ...described }, ['name']),
        level: 'admin',
        returns: '{name,status,replaced}',
        example: 'server.add(name="docs", url="https://docs.example.com/mcp")',
        run: async ({ name: added, ...server }, call) => {
          demandLocal(call, config);
          if (!server.command === !server.url) throw fail('request.invalid', { reason: 'give either command or url' });
          const replaced = Object.hasOwn(config.current().servers, added);
          await config.edit(['servers', added], server);
          return { name: added, status: servers.byName(added)?.state ?? 'connecting', replaced };
        },
      }),
      offerTool({
        slug: 'remove',
        description:
          'Removes an upstream MCP server from config.yaml and stops it. Only from the command line on the machine, unless http.allowRemoteConfig is on.',
        argSchema: argsOf({ name }, ['name']),
        level: 'admin',
        returns: '{name,removed:true}',
        example: 'server.remove(name="docs")',
        run: async (args, call) => {
          demandLocal(call, config);
          if (!config.current().servers[args.name]) throw fail('server.not_found', { ref: args.name });
          await config.edit(['servers', args.name], undefined);
          return { name: args.name, removed: true };
        },
      }),
      offerTool({
        slug: 'reconnect',
        description: 'Ends the connection to an upstream MCP server and makes a new one; answers when it stands.',
        argSchema: argsOf({ name }, ['name']),
        level: 'admin',
        returns: '{name,status,tools}',
        example: 'server.reconnect(name="docs")',
        run: async (args) => {
          const upstream = find(args.name);
          await upstream.reconnect();
          await upstream.refresh();
          return { name: args.name, status: upstream.state, tools: upstream.offered.length };
        },
      }),
      offerTool({
        slug: 'logs',
        description:
          'The last lines that an upstream MCP server wrote to stderr, and what went wrong on its connection.',
        argSchema: argsOf(
          {
            name,
            tail: { type: 'integer', minimum: 1, maximum: 200, default: 50, description: 'How many lines at most' },
          },
          ['name'],
        ),
        level: 'admin',
        returns: '{name,lines:[..]}',
        example: 'server.logs(name="docs", tail=20)',
        run: async (args) => ({
          name: args.name,
          lines: find(args.name).lines.slice(-args.tail),
        }),
      }),
    ],
  };
}

/** What runs commands on this machine is changed from this machine. */
function demandLocal(call: Call, config: ConfigRoom): void {
  demandUnconfined(call.actor, 'Changing MCP servers');
  if (call.actor.door === 'cli' || call.actor.kind === 'local' || config.current().http.allowRemoteConfig) return;
  throw fail('remote_config.refused');
}
