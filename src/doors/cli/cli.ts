import { Writable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { parseExactly } from '../../schema/json.ts';
import { BadUsage, CommandFailure } from './failure.ts';
import { findServer, homeFolder, noServer } from './find-server.ts';
import { harmless, painter, type Style, type Terminal } from './output.ts';
import { ServerClient } from './server-client.ts';

interface CliOptions {
  json?: boolean;
  home?: string;
  /** How long the server may take for all that it is asked; as long as it likes when left out. */
  patienceMs?: number;
}

/** What every command works with. */
export class Cli {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  readonly paint: (style: Style, text: string) => string;
  readonly isJson: boolean;
  readonly home: string;
  readonly #patience: AbortSignal | undefined;
  #server: Promise<ServerClient> | undefined;

  constructor(terminal: Terminal, env: NodeJS.ProcessEnv, options: CliOptions) {
    this.terminal = terminal;
    this.env = env;
    this.paint = painter(terminal.output);
    this.isJson = options.json === true;
    this.home = homeFolder(options.home, env);
    this.#patience = options.patienceMs === undefined ? undefined : AbortSignal.timeout(options.patienceMs);
  }

  /** How wide a line may be; nothing is cut for a file or another program. */
  get room(): number {
    const { output } = this.terminal;
    return output.isTTY && output.columns > 0 ? output.columns : Infinity;
  }

  /** The running server; fails with what to do when there is none. */
  server(): Promise<ServerClient> {
    this.#server ??= findServer(this.home, this.env).then(
      (address) =>
        new ServerClient(address, () => noServer(this.home, this.env['OUBLIETTE_URL']), this.#patience, {
          afterMs: 10_000,
          onSilence: (url) =>
            this.note(
              `${url} does not answer: the server hangs or is stopped. Still waiting; Ctrl-C ends that. See: oubliette doctor`,
            ),
        }),
    );
    return this.#server;
  }

  async call<T>(tool: string, args: Record<string, unknown> = {}, signal?: AbortSignal): Promise<T> {
    const server = await this.server();
    return server.call<T>(tool, args, signal).catch((error: unknown) => {
      throw outOfReach(tool, error);
    });
  }

  /** Every row of a list tool, over all its pages. */
  async rows<T>(tool: string, key: string, args: Record<string, unknown> = {}): Promise<T[]> {
    const found: T[] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.call<Record<string, unknown>>(
        tool,
        pageToken ? { ...args, page_token: pageToken } : args,
      );
      found.push(...(page[key] as T[]));
      pageToken = page['next_page_token'] as string | undefined;
    } while (pageToken);
    return found;
  }

  /** One answer: as JSON on one line with --json, else as the command words it. */
  print(value: unknown, human: () => string): void {
    this.say(this.isJson ? JSON.stringify(value) : human());
  }

  say(text: string): void {
    if (text !== '') this.terminal.output.write(text.endsWith('\n') ? text : `${text}\n`);
  }

  /** For people, beside the answer: never on standard output, so that pipes stay clean. */
  note(text: string): void {
    this.terminal.errors.write(`${text}\n`);
  }

  /** A value of unknown origin, readable and safe to print. */
  readable(value: unknown): string {
    return harmless(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'null'));
  }

  /** All of standard input. */
  async stdin(what: string): Promise<string> {
    if (this.terminal.input.isTTY) this.note(`Type or paste ${what}, then Ctrl-D:`);
    return textOf(this.terminal.input);
  }

  /** The same, but what is typed at a terminal is not shown there. */
  async hiddenStdin(what: string): Promise<string> {
    const { input } = this.terminal;
    if (!input.isTTY) return textOf(input);
    this.note(`Type or paste ${what} (it is not shown), then Enter and Ctrl-D:`);
    const { createInterface } = await import('node:readline');
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
    lines.on('SIGINT', () => process.exit(130));
    return (await Array.fromAsync(lines)).join('\n');
  }

  /** JSON from the argument itself, from `@file`, or from `-` (standard input); an object, else bad usage. */
  async jsonArgument(argument: string | undefined, what: string): Promise<Record<string, unknown>> {
    const { readFile } = await import('node:fs/promises');
    const source = argument ?? '{}';
    let text = source;
    if (source === '-') text = await this.stdin(what);
    else if (source.startsWith('@'))
      text = await readFile(source.slice(1), 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw new BadUsage(`${source.slice(1)} cannot be read (${error.code})`);
      });
    let value: unknown;
    try {
      // What the server would refuse must reach it unchanged.
      value = parseExactly(text);
    } catch (error) {
      throw new BadUsage(
        `${what} must be JSON: ${(error as Error).message}. Write it as '{"key": "value"}', @file, or - for standard input`,
      );
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new BadUsage(`${what} must be a JSON object`);
    return value as Record<string, unknown>;
  }
}

/**
 * What a command itself asks for is always there, and looks for no other tool; who does not find it has a token that is
 * narrowed to other bundles.
 */
function outOfReach(tool: string, error: unknown): unknown {
  if (!(error instanceof CommandFailure) || error.code !== 'tool.not_found') return error;
  return new CommandFailure(
    error.code,
    `This command needs ${tool}, which this token does not reach: it is only for other bundles. Use a token for all of them, or unset OUBLIETTE_TOKEN to be the admin of this machine.`,
  );
}
