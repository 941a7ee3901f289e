import type { Command, Option } from 'commander';
import type { Terminal } from './output.ts';
import { Cli } from './cli.ts';
import { BadUsage } from './failure.ts';

/** What the composition root lends to the commands that are no HTTP clients. */
export interface Programs {
  version: string;
  serve(options: ServeOptions): Promise<RunningServer>;
  /** Stdio MCP; resolves when the client is gone. */
  mcp?(options: McpOptions): Promise<void>;
  /** How a client starts `oubliette mcp` on this machine. */
  stdioCommand?(home: string): { command: string; args: string[] };
  /** `oubliette-client`; resolves when its agent is gone. */
  client?(options: { socket: string }): Promise<void>;
  doctor?(options: { home: string }): Promise<DoctorReport>;
  backup?(home: string, file: string): Promise<{ file: string; bytes: number; files: number }>;
  restore?(file: string, home: string): Promise<{ files: number; previous?: string }>;
}

export interface McpOptions {
  home: string;
  menu: string;
  apiKey?: string;
  /** The address of the server that runs, if one does. */
  running(): Promise<string | undefined>;
  onProblem(message: string): void;
}

export interface ServeOptions {
  home: string;
  port: number;
  host: string;
  logLevel: string;
  packs: boolean;
}

export interface RunningServer {
  url: string;
  mcpUrl: string;
  signInUrl: string;
  close(): Promise<void>;
}

export interface DoctorReport {
  ok: boolean;
  checks: { name: string; status: 'ok' | 'warn' | 'fail'; text: string; advice?: string }[];
}

/** Everything a group of commands needs to add itself to the program. */
export interface Setting {
  program: Command;
  terminal: Terminal;
  env: NodeJS.ProcessEnv;
  programs: Programs;
}

/** What stands behind a command, as its usage names it: `<a>`, `[b]`, `<c...>`. */
type Positionals<Usage extends string> = Usage extends `${infer Word} ${infer Rest}`
  ? [...Positional<Word>, ...Positionals<Rest>]
  : Positional<Usage>;
type Positional<Word extends string> = Word extends `<${string}...>` | `[${string}...]`
  ? [string[]]
  : Word extends `<${string}>`
    ? [string]
    : Word extends `[${string}]`
      ? [string?]
      : [];

interface Definition<Usage extends string, Options> {
  /** `create`, `revoke <token-id>`. */
  usage: Usage;
  summary: string;
  options?: Option[];
  /** Lines a person may paste. */
  examples: string[];
  run: (cli: Cli, args: Positionals<Usage>, options: Options) => Promise<void>;
}

/** Adds one command with what all have: --json, --home, --help with examples. */
export function define<const Usage extends string, Options = object>(
  setting: Setting,
  parent: Command,
  definition: Definition<Usage, Options>,
): Command {
  const command = parent.command(definition.usage).description(definition.summary);
  for (const option of definition.options ?? []) command.addOption(option);
  command
    .option('--json', 'print the answer as JSON on one line')
    .option('--home <dir>', 'the data folder (OUBLIETTE_HOME, ~/.oubliette)');
  examplesOf.set(command, definition.examples);
  command.addHelpText('after', `\nExamples:\n${definition.examples.map((line) => `  ${line}`).join('\n')}`);
  command.action(async (...received: unknown[]) => {
    // Commander has read both as usage and options say.
    const options = received.at(-2) as Options & { json?: boolean; home?: string };
    const args = received.slice(0, -2) as Positionals<Usage>;
    await definition.run(new Cli(setting.terminal, setting.env, options), args, options);
  });
  return command;
}

/** A command that only holds others, such as `token`. */
export function group(setting: Setting, name: string, summary: string): Command {
  const command = setting.program.command(name).description(summary);
  const first = (child: Command): string => examplesOf.get(child)?.[0] ?? `oubliette ${name} ${child.name()} --help`;
  return command.addHelpText(
    'after',
    () => `\nExamples:\n${command.commands.map((each) => `  ${first(each)}`).join('\n')}`,
  );
}

const examplesOf = new WeakMap<Command, string[]>();

/** For options that may be repeated: `--bundle a --bundle b`. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}

/** For options that are a whole number. */
export const wholeNumber =
  (from = 1) =>
  (text: string): number => {
    if (!/^(-1|\d{1,9})$/.test(text) || Number(text) < from)
      throw new BadUsage(`${text} is no count. Write a whole number from ${from}`);
    return Number(text);
  };
