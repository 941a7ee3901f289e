import { define, type Setting } from '../define.ts';
import type { FoundTool } from '../catalog-client.ts';
import { CommandFailure, Silent } from '../failure.ts';
import { harmless, painter } from '../output.ts';
import type { Answer, ServerClient } from '../server-client.ts';
import type { Cli } from '../cli.ts';

export function addCalls(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'call <tool> [arguments]',
    summary: 'call a tool; arguments are a JSON object, @file, or - for standard input',
    examples: [
      `oubliette call demo_foo '{"text":"hello"}'`,
      `oubliette call text_hash '{"text":"hello"}' --json`,
      'echo \'{"expression":"2*(3+4)"}\' | oubliette call calc_evaluate -',
    ],
    async run(cli, [name, argument]) {
      const args = await cli.jsonArgument(argument, 'the arguments');
      const server = await cli.server();
      show(cli, await server.outcome(name, args).catch((error: unknown) => withNearest(server, name, error)));
    },
  });
  define(setting, setting.program, {
    usage: 'run <code>',
    summary: 'run a code-mode program; - reads it from standard input',
    examples: [`oubliette run 'demo.foo(text="hello")'`, 'oubliette run - < program.py'],
    async run(cli, [code]) {
      show(
        cli,
        await (await cli.server()).outcome('run', { code: code === '-' ? await cli.stdin('the program') : code }),
      );
    },
  });
}

/** A misspelt name is answered with the tools that it may stand for. */
async function withNearest(server: ServerClient, name: string, error: unknown): Promise<never> {
  if (!(error instanceof CommandFailure) || error.code !== 'tool.not_found') throw error;
  const query = new URLSearchParams({ q: name.replaceAll('_', ' '), pageSize: '3' });
  const { tools } = await server
    .json<{ tools: FoundTool[] }>('GET', `/tools/tools/search?${query.toString()}`)
    .catch(() => ({ tools: [] }));
  const next =
    tools.length > 0
      ? `Did you mean ${tools.map((tool) => tool.name).join(' or ')}?`
      : 'All there are: oubliette tools';
  throw new CommandFailure(error.code, `${error.message} ${next}`, error.details);
}

/** A tool that ran and failed is an answer too: it goes where answers go with --json, and the exit code says so. */
function show(cli: Cli, answer: Answer): void {
  if (answer.ok) return cli.print(answer, () => cli.readable(answer.value));
  if (cli.isJson) cli.say(JSON.stringify(answer));
  else cli.note(`${painter(cli.terminal.errors)('red', answer.error.code)} ${harmless(answer.error.message)}`);
  throw new Silent(1);
}
