import { Option } from 'commander';
import { define, type Setting } from '../define.ts';
import { BadUsage, CommandFailure } from '../failure.ts';
import { runningServer } from '../find-server.ts';

export function addStdio(setting: Setting): void {
  const { programs, env } = setting;
  define(setting, setting.program, {
    usage: 'mcp',
    summary: 'speak MCP on standard input and output, with the token in OUBLIETTE_API_KEY',
    options: [new Option('--menu <menu>', 'run, own, or b/<bundle>').default('run')],
    examples: ['oubliette mcp', 'OUBLIETTE_API_KEY=oub_... oubliette mcp --menu b/text'],
    async run(cli, _args, options: { menu: string }) {
      if (!/^(run|own|b\/.+)$/.test(options.menu))
        throw new BadUsage(`${options.menu} is no menu. Use run, own or b/<bundle>`);
      if (!programs.mcp) throw new CommandFailure('not_supported', 'MCP over stdio is not part of this build.');
      await programs.mcp({
        home: cli.home,
        menu: options.menu,
        apiKey: env['OUBLIETTE_API_KEY'] || undefined,
        running: async () => env['OUBLIETTE_URL'] ?? (await runningServer(cli.home))?.url,
        onProblem: (message) => cli.note(message),
      });
    },
  });
  define(setting, setting.program, {
    usage: 'client',
    summary: 'the MCP server that an agent in a sandbox starts (oubliette-client)',
    options: [new Option('--socket <path>', "the session's socket").makeOptionMandatory()],
    examples: ['oubliette client --socket /mcp/relay.sock'],
    async run(_cli, _args, options: { socket: string }) {
      if (!programs.client) throw new CommandFailure('not_supported', 'The client is not part of this build.');
      await programs.client({ socket: options.socket });
    },
  });
}
