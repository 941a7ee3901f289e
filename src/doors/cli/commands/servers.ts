import { Option } from 'commander';
import { collect, define, group, wholeNumber, type Setting } from '../define.ts';
import { BadUsage } from '../failure.ts';
import { columns, harmless, oneLine } from '../output.ts';

interface ServerRow {
  name: string;
  state?: string;
  status?: string;
  tools?: number;
  tool_count?: number;
  error?: string | null;
}

export function addServers(setting: Setting): void {
  const server = group(setting, 'server', 'add, list and remove upstream MCP servers');
  const add = define(setting, server, {
    usage: 'add <name> [command...]',
    summary: 'connect an MCP server: a command to start, or --url',
    options: [
      new Option('--url <url>', 'its address'),
      new Option('--transport <kind>', 'how to speak to an address').choices(['http', 'sse']),
      new Option('--header <line>', '"Name: value", ${NAME} for a secret; may be repeated').argParser(collect),
      new Option('--env <assignment>', 'NAME=value for its environment; may be repeated').argParser(collect),
      new Option('--cwd <dir>', 'the folder to start it in'),
      new Option('--timeout <ms>', 'how long a call may take').argParser(wholeNumber()),
    ],
    examples: [
      'oubliette server add files -- npx -y @modelcontextprotocol/server-filesystem /data',
      "oubliette server add docs --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'",
    ],
    async run(cli, [name, command], options: AddOptions) {
      const answer = await cli.call<{ replaced?: boolean }>('server_add', { name, ...configOf(command, options) });
      cli.print(
        answer,
        () =>
          `${answer.replaced ? `Replaced ${name}, which was there before` : `Added ${name}`}. Its tools appear as soon as it answers: oubliette server list`,
      );
    },
  });
  add.passThroughOptions(false);
  define(setting, server, {
    usage: 'list',
    summary: 'list the servers and how they are',
    examples: ['oubliette server list'],
    async run(cli) {
      const answer = await cli.call<{ servers: ServerRow[] }>('server_list');
      cli.print(answer, () =>
        answer.servers.length === 0
          ? 'There are no MCP servers. Add one: oubliette server add --help'
          : columns(
              answer.servers.map((each) => [
                cli.paint('cyan', each.name),
                each.state ?? each.status ?? '',
                `${each.tools ?? each.tool_count ?? 0} tools`,
                oneLine(harmless(each.error ?? ''), 100),
              ]),
              cli.room,
            ),
      );
    },
  });
  define(setting, server, {
    usage: 'logs <server>',
    summary: 'the last lines that a server wrote, and what went wrong on its connection',
    examples: ['oubliette server logs docs --tail 20'],
    options: [new Option('--tail <lines>', 'how many').default(50).argParser(wholeNumber())],
    async run(cli, [name], options: { tail: number }) {
      const answer = await cli.call<{ lines: string[] }>('server_logs', { name, tail: options.tail });
      cli.print(answer, () => harmless(answer.lines.join('\n')));
    },
  });
  define(setting, server, {
    usage: 'reconnect <server>',
    summary: 'end the connection to a server and make a new one',
    examples: ['oubliette server reconnect docs'],
    async run(cli, [name]) {
      const answer = await cli.call('server_reconnect', { name });
      cli.print(answer, () => `${name} is connected again.`);
    },
  });
  define(setting, server, {
    usage: 'remove <server>',
    summary: 'disconnect a server and forget it',
    examples: ['oubliette server remove docs'],
    async run(cli, [name]) {
      const answer = await cli.call('server_remove', { name });
      cli.print(answer, () => `Removed ${name}.`);
    },
  });
}

interface AddOptions {
  url?: string;
  transport?: string;
  header?: string[];
  env?: string[];
  cwd?: string;
  timeout?: number;
}

const ofAddress = { transport: '--transport', header: '--header' };
const ofCommand = { env: '--env', cwd: '--cwd' };

function configOf(command: string[], options: AddOptions): Record<string, unknown> {
  const [program, ...args] = command;
  if (!program === !options.url) throw new BadUsage('Give either a command (after --) or --url');
  const foreign = Object.entries(program ? ofAddress : ofCommand).find(([key]) => options[key as keyof AddOptions]);
  if (foreign)
    throw new BadUsage(
      `${foreign[1]} goes with ${program ? 'an address, not with a command' : 'a command, not with an address'}`,
    );
  const config: Record<string, unknown> = {
    ...(program
      ? { command: program, args, env: pairs(options.env, '='), cwd: options.cwd }
      : { url: options.url, transport: options.transport, headers: pairs(options.header, ':') }),
    timeoutMs: options.timeout,
  };
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

function pairs(lines: string[] | undefined, separator: string): Record<string, string> | undefined {
  if (!lines) return undefined;
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(separator);
      if (at < 1) throw new BadUsage(`${line} should be written as NAME${separator}value`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
