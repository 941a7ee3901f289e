import { Option } from 'commander';
import { once } from 'node:events';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import type { Cli } from '../cli.ts';
import { define, type RunningServer, type Setting } from '../define.ts';
import { BadUsage, CommandFailure } from '../failure.ts';

const lingerMs = 1000;
/** Running calls take ten seconds of it at most. */
const longestStopMs = 30_000;

export function addServe(setting: Setting): void {
  const { env, programs } = setting;
  define(setting, setting.program, {
    usage: 'serve',
    summary: 'serve in the foreground until Ctrl-C',
    options: [
      new Option('--port <port>', 'port; 0 takes any free one (OUBLIETTE_PORT, 4777)'),
      new Option('--host <address>', 'address to listen on (OUBLIETTE_HOST, 127.0.0.1)'),
      new Option('--log <level>', 'trace, debug, info, warn, error (OUBLIETTE_LOG, info)'),
      new Option('--store <url>', 'where state lies; only this machine for now (OUBLIETTE_STORE)'),
      new Option('--no-packs', 'do not load the files of the packs folder'),
    ],
    examples: ['oubliette serve', 'oubliette serve --port 0 --home ./data', 'OUBLIETTE_LOG=debug oubliette serve'],
    async run(cli, _args, options: { port?: string; host?: string; log?: string; store?: string; packs: boolean }) {
      // A variable that is set to nothing is as good as none.
      const from = (flag: string | undefined, name: string): string | undefined => flag ?? (env[name] || undefined);
      const store = from(options.store, 'OUBLIETTE_STORE');
      if (store && store !== 'sqlite')
        throw new BadUsage(`Store ${store} is not supported yet. Leave OUBLIETTE_STORE unset`);
      const port = portOf(from(options.port, 'OUBLIETTE_PORT') ?? '4777');
      const host = from(options.host, 'OUBLIETTE_HOST') ?? '127.0.0.1';
      const logLevel = levelOf(from(options.log, 'OUBLIETTE_LOG') ?? 'info');
      const { home } = cli;
      const stopping = stopSignal();
      const server = await programs
        .serve({ home, port, host, logLevel, packs: options.packs })
        .catch(async (error: NodeJS.ErrnoException) => {
          const { asFailure, isDiskFull } = await import('../../../schema/index.ts');
          throw cannotListen(error, host, port) ?? (isDiskFull(error) ? asFailure(error) : error);
        });
      if (!stopping.aborted) {
        greet(cli, server, programs.version);
        await once(stopping, 'abort');
      }
      if (!cli.isJson) cli.note('Stopping ...');
      await server.close();
      // What took longer than a stop may wait, such as the first image of an engine, must not keep the process.
      setTimeout(() => process.exit(), lingerMs).unref();
    },
  });
}

function greet(cli: Cli, server: RunningServer, version: string): void {
  const adminToken = join(cli.home, 'admin.token');
  const value = {
    url: server.url,
    mcpUrl: server.mcpUrl,
    signInUrl: server.signInUrl,
    adminTokenFile: adminToken,
    home: cli.home,
    pid: process.pid,
  };
  const bold = (text: string) => cli.paint('bold', text);
  cli.print(value, () =>
    [
      `Oubliette ${version} is ready.`,
      '',
      `  Web app      ${bold(server.signInUrl)}`,
      `               ${cli.paint('dim', 'signs you in once, within 10 minutes; a new link: oubliette login')}`,
      `  MCP          ${bold(server.mcpUrl)}`,
      `  Admin token  ${adminToken}`,
      '',
      'Ctrl-C stops it.',
    ].join('\n'),
  );
  if (process.getuid?.() === 0)
    cli.note(
      `${cli.paint('yellow', 'warning')} running as root: what MCP servers do on this machine is not held back by the system. Use a user of its own.`,
    );
}

/** From now on we are asked to stop, not ended; whatever does not come to its end then ends with us. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController();
  // A terminal, npm and our launcher may all pass the same signal on: only the first one counts.
  const stop = (): void => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    setTimeout(() => process.exit(1), longestStopMs).unref();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop);
  // Without a terminal none can hang up but the one that `nohup` was to protect us from; Node has undone that.
  const canHangUp = [0, 1, 2].some((fd) => isatty(fd));
  process.on('SIGHUP', () => canHangUp && stop());
  return stopping.signal;
}

/** What to do when the address cannot be had; undefined for any other failure. */
function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): CommandFailure | undefined {
  const at = `${host}:${port}`;
  const say = (message: string): CommandFailure => new CommandFailure('server.cannot_listen', message);
  switch (error.code) {
    case 'EADDRINUSE':
      return say(
        `${at} is in use, perhaps by a server that runs already (see: oubliette doctor). Take another port: --port 0 or OUBLIETTE_PORT`,
      );
    case 'EACCES':
      return say(`${at} may not be used by this user. Take a port from 1024 on: --port or OUBLIETTE_PORT`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return say(`${host} is no address of this machine. Use 127.0.0.1 or 0.0.0.0: --host or OUBLIETTE_HOST`);
    default:
      return undefined;
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65535) throw new BadUsage(`${text} is no port. Use 0 to 65535`);
  return port;
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
function levelOf(text: string): string {
  if (!levels.includes(text)) throw new BadUsage(`${text} is no log level. Use one of ${levels.join(', ')}`);
  return text;
}
