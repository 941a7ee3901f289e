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
      writeErr: (text) => terminal.errors.write(text),
    });
  const setting: Setting = { program, terminal, env, programs };
  addCommands(setting);
  inherit(program);
  try {
    await program.parseAsync(meant(program, argv), { from: 'user' });
    return 0;
  } catch (error) {
    return report(error, terminal, argv.includes('--json'));
  }
}

/** Without a command it serves, with whatever options; --help behind a command that does not exist is no help. */
function meant(program: Command, argv: readonly string[]): string[] {
  const [first] = argv;
  if (first === undefined || (first.startsWith('-') && !/^(-h|--help|-V|--version)$/.test(first)))
    return ['serve', ...argv];
  const isKnown = first.startsWith('-') || first === 'help' || program.commands.some((each) => each.name() === first);
  return isKnown ? [...argv] : [first];
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
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const paint = painter(terminal.errors);
  const { code, message, details } =
    error instanceof CommandFailure || isFailure(error)
      ? error
      : error instanceof BadUsage
        ? { code: 'request.invalid', message: error.message, details: [] }
        : { code: 'server.internal', message: error instanceof Error ? error.message : String(error), details: [] };
  if (isJson) terminal.errors.write(`${JSON.stringify({ error: { code, message, details } })}\n`);
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

// Told by its shape: loading every schema only to compare a class would double the start of each command.
function isFailure(error: unknown): error is Failure {
  return error instanceof Error && error.name === 'Failure' && 'code' in error && 'details' in error;
}
