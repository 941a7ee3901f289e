// The command line: every command is an HTTP client of the running server, or starts a program it was lent. May import: what doors may.
export { endWithLauncher } from './launcher.ts';
export { runCli } from './run-cli.ts';
export type { Programs } from './define.ts';
