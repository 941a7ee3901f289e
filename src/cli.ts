import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endWithLauncher, runCli, type Programs } from './doors/cli/index.ts';
import { packageRoot } from './entry.ts';

const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };

let isServing = false;

// Each program is loaded only by the command that needs it: a client command must not pay for the server.
const programs: Programs = {
  version,
  async serve(options) {
    isServing = true;
    const { startServer } = await import('./main.ts');
    return startServer(options);
  },
  async mcp(options) {
    const leaving = new AbortController();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => leaving.abort());
    const { serveStdio } = await import('./doors/mcp/index.ts');
    await serveStdio({
      ...options,
      signal: leaving.signal,
      serveAlone: async () => {
        const { startServer } = await import('./main.ts');
        return startServer({ home: options.home, port: 0, host: '127.0.0.1', logLevel: 'error' });
      },
    });
  },
  async client({ socket }) {
    const { runClient } = await import('./client/run.ts');
    const apiKey = process.env['OUBLIETTE_API_KEY'] || undefined;
    const warn = (message: string): void => void process.stderr.write(`oubliette-client: ${message}\n`);
    await runClient({ socket, apiKey, version, warn });
  },
  stdioCommand: (home) => ({
    command: process.execPath,
    args: [join(packageRoot, 'bin', 'oubliette.js'), 'mcp', '--home', home],
  }),
  async doctor(options) {
    return (await import('./doctor.ts')).runDoctor(options);
  },
  async backup(home, file) {
    return (await import('./store/index.ts')).backupHome(home, file);
  },
  async restore(file, home) {
    const [{ restoreHome }, { sandboxUser }] = await Promise.all([import('./store/index.ts'), import('./main.ts')]);
    return restoreHome(file, home, sandboxUser());
  },
};

endWithLauncher();
// `oubliette tools | head` closes our output early; that is no failure. A server is there for others than its readers.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!isServing) process.exit(error.code === 'EPIPE' ? 0 : 1);
});
process.stderr.on('error', () => {});

process.exitCode = await runCli(
  process.argv.slice(2),
  programs,
  { input: process.stdin, output: process.stdout, errors: process.stderr },
  process.env,
);
