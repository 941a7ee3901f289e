import { Command, CommanderError } from 'commander';
import type { Programs, Setting } from './define.ts';
import { BadUsage, CommandFailure, Silent } from './failure.ts';
import type { Failure } from '../../schema/index.ts';
import { harmless, painter, type Terminal } from './output.ts';
import { addCommands } from './commands/index.ts';

/** Runs one command line and answers its exit code: 0, 1 for a failure, 2 for bad usage. Never throws. */
export async function runCli(
  argv: readonly string[],
  programs: Programs,
  terminal: Terminal,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const isJson = wantsJson(argv);
  const program = new Command('oubliette')
    .description(
      'One server for the tools of your AI agents, and for the agents that use them.\nWithout a command it serves.',
    )
    .version(programs.version, '-V, --version')
    .exitOverride()
    // A command may have others below it (`import`): what is written behind their name belongs to them.
    .enablePositionalOptions()
    .showHelpAfterError('(see --help)')
    .configureOutput({
      writeOut: (text) => terminal.output.write(text),
      // With --json the one line of `report` says it all.
      writeErr: (text) => isJson || terminal.errors.write(text),
    })
    .addHelpText('after', `\nExamples:\n${firstSteps.map((line) => `  ${line}`).join('\n')}`);
  const setting: Setting = { program, terminal, env, programs };
  addCommands(setting);
  inherit(program);
  try {
    await program.parseAsync(meant(program, argv), { from: 'user' });
    return 0;
  } catch (error) {
    const isHelp = error instanceof CommanderError && error.code === 'commander.help' && error.exitCode !== 0;
    return report(isHelp && isJson ? new BadUsage(choices(program, argv)) : error, terminal, isJson);
  }
}

const firstSteps = [
  'oubliette serve',
  'oubliette tools hash',
  `oubliette call demo_foo '{"text":"hello"}'`,
  `oubliette run 'demo.foo(text="hello")'`,
  'oubliette <command> --help',
];

/** What stands behind `--` belongs to another program. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Without a command it serves, with whatever options; --help behind a command that does not exist is no help. */
function meant(program: Command, argv: readonly string[]): string[] {
  const words = commonOptionsLast(program, argv);
  const [first] = words;
  if (first === undefined || (first.startsWith('-') && !/^(-h|--help|-V|--version)$/.test(first)))
    return ['serve', ...words];
  const isKnown = first.startsWith('-') || first === 'help' || program.commands.some((each) => each.name() === first);
  return isKnown ? words : [first];
}

/** `oubliette --home DIR token --json list` as `oubliette token list --home DIR --json`: every command has these options. */
function commonOptionsLast(program: Command, argv: readonly string[]): string[] {
  const names: string[] = [];
  const options: string[] = [];
  let at: Command | undefined = program;
  let from = 0;
  while (from < argv.length && at && at.commands.length > 0) {
    const word = argv[from]!;
    if (/^--(json|home)(=|$)/.test(word)) {
      options.push(...argv.slice(from, (from += word === '--home' ? 2 : 1)));
      continue;
    }
    const below: Command | undefined = at.commands.find((each) => each.name() === word);
    // What is no command may be meant as one, and is then to be told as such.
    if (!below && (at !== program || word.startsWith('-'))) break;
    names.push(word);
    at = below;
    from++;
  }
  if (names.length === 0) return [...argv];
  // A group alone does nothing that they could change.
  const isGroup = at !== undefined && at.commands.length > 0 && at.options.length === 0;
  return [...names, ...(isGroup ? [] : options), ...argv.slice(from)];
}

/** The commands below the one that was named, which is a group. */
function choices(program: Command, argv: readonly string[]): string {
  let at = program;
  for (const word of argv) at = at.commands.find((each) => each.name() === word) ?? at;
  return `${at.name()} needs one of its commands: ${at.commands.map((each) => each.name()).join(', ')}`;
}

// Subcommands do not take over these settings by themselves when they are made before.
function inherit(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inherit(child);
  }
}

function report(error: unknown, terminal: Terminal, isJson: boolean): number {
  if (error instanceof Silent) return error.exitCode;
  // Asking for help or the version is no failure; a group without its subcommand shows help as an error.
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (isJson) sayAsJson(terminal, 'request.invalid', usageText(error));
    return 2;
  }
  const paint = painter(terminal.errors);
  const { code, message, details } = described(error);
  if (isJson) sayAsJson(terminal, code, message, details);
  else {
    terminal.errors.write(`${paint('red', 'error:')} ${harmless(message)}\n`);
    for (const detail of details) {
      if (message.includes(`${detail.path} ${detail.message}`)) continue;
      const line = `${detail.path}: ${detail.message}`;
      if (!message.includes(line)) terminal.errors.write(`  ${harmless(line)}\n`);
    }
  }
  return error instanceof BadUsage ? 2 : 1;
}

function described(error: unknown): Pick<Failure, 'message' | 'details'> & { code: string } {
  if (error instanceof CommandFailure || isFailure(error)) return error;
  if (error instanceof BadUsage) return { code: 'request.invalid', message: error.message, details: [] };
  return { code: 'server.internal', message: error instanceof Error ? error.message : String(error), details: [] };
}

function sayAsJson(terminal: Terminal, code: string, message: string, details: Failure['details'] = []): void {
  terminal.errors.write(`${JSON.stringify({ error: { code, message, details } })}\n`);
}

const usageText = ({ message }: CommanderError): string => message.replace(/^error: /, '').replace(/\n\(/, ' (');

// Told by its shape: loading every schema only to compare a class would double the start of each command.
function isFailure(error: unknown): error is Failure {
  return error instanceof Error && error.name === 'Failure' && 'code' in error && 'details' in error;
}
