import { readFile } from 'node:fs/promises';
import { buffer as bufferOf } from 'node:stream/consumers';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { collect, define, type Setting } from '../define.ts';
import { BadUsage } from '../failure.ts';
import { importClients } from './clients.ts';
import { importApi, importCurlCommand, type ApiOptions, type CurlOptions } from './import-api.ts';

interface ZipReport {
  bundles: { created: number; skipped: number };
  tools: { created: number; skipped: number };
  skipped: string[];
}

const conflict = () =>
  new Option('--conflict <policy>', 'what happens to tools that exist already')
    .choices(['skip', 'fail'])
    .default('fail');
const allowHosts = () => new Option('--allow-hosts', 'add the hosts of the API to allowedHosts in config.yaml');
const dryRun = () => new Option('--dry-run', 'only say what would be imported');

export function addImports(setting: Setting): void {
  const take = define(setting, setting.program, {
    usage: 'import <file>',
    summary: 'take in bundles from a ZIP file (- reads standard input), all or nothing; or see the commands below',
    options: [conflict()],
    examples: [
      'oubliette import weather.zip',
      'oubliette import weather.zip --conflict skip',
      'oubliette import openapi --help',
    ],
    run: (cli, [file], options: { conflict: string }) => importZip(cli, file, options.conflict),
  });
  define(setting, take, {
    usage: 'openapi <source>',
    summary: 'make one HTTP tool of every operation of an OpenAPI document: a file, a URL, or -',
    options: [
      new Option('--bundle <slug>', 'the bundle; made from the title when left out'),
      new Option('--base-url <url>', 'where the API is, when the document does not say'),
      conflict(),
      allowHosts(),
      dryRun(),
    ],
    examples: [
      'oubliette import openapi petstore.yaml --bundle pets --allow-hosts',
      'oubliette import openapi https://api.example.com/openapi.json --dry-run',
    ],
    run: (cli, [source], options: ApiOptions) => importApi(cli, source, options),
  });
  define(setting, take, {
    usage: 'curl <command>',
    summary: 'make one HTTP tool of a curl command; credentials in it become secrets',
    options: [
      new Option('--bundle <slug>', 'the bundle that gets the tool').makeOptionMandatory(),
      new Option('--slug <slug>', 'slug of the tool; made from method and path when left out'),
      allowHosts(),
      dryRun(),
    ],
    examples: [`oubliette import curl 'curl https://api.example.com/items?limit=5' --bundle example --allow-hosts`],
    run: (cli, [command], options: CurlOptions) => importCurlCommand(cli, command, options),
  });
  define(setting, take, {
    usage: 'clients',
    summary: 'take over the MCP servers that other AI clients on this machine have',
    options: [
      new Option('--yes', 'do not ask'),
      new Option('--only <name>', 'only this server; may be repeated').argParser(collect),
    ],
    examples: ['oubliette import clients', 'oubliette import clients --only github --yes'],
    run: (cli, _args, options: { yes?: boolean; only?: string[] }) => importClients(cli, options),
  });
}

async function importZip(cli: Cli, file: string, policy: string): Promise<void> {
  const bytes = await bytesOf(cli, file);
  const server = await cli.server();
  const report = await server.json<ZipReport>('POST', `/tools/import?conflict=${policy}`, {
    bytes,
    contentType: 'application/zip',
  });
  const { bundles, tools, skipped } = report;
  cli.print(report, () =>
    [
      `Bundles: ${bundles.created} new, ${bundles.skipped} there already. Tools: ${tools.created} new, ${tools.skipped} skipped.`,
      ...skipped.map((line) => `  skipped ${line}`),
    ].join('\n'),
  );
}

async function bytesOf(cli: Cli, file: string): Promise<Buffer> {
  if (file === '-') return bufferOf(cli.terminal.input);
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new BadUsage(`${file} cannot be read (${error.code})`);
  });
}
