import { readFile } from 'node:fs/promises';
import { buffer as bufferOf } from 'node:stream/consumers';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { collect, define, type Setting } from '../define.ts';
import { BadUsage } from '../failure.ts';
import { columns, harmless } from '../output.ts';
import { importClients } from './clients.ts';

interface ZipReport {
  bundles: { created: number; skipped: number };
  tools: { created: number; skipped: number };
  skipped: string[];
}

interface ApiReport {
  bundle: string;
  operations: number;
  imported: number;
  tools_created?: number;
  tools_skipped?: number;
  not_imported: { operation?: string; reason?: string }[];
  notes: unknown[];
  secrets: string[];
  hosts: string[];
}

interface CurlReport {
  bundle: string;
  tool: string;
  secrets: string[];
  notes: string[];
}

const conflict = () =>
  new Option('--conflict <policy>', 'what happens to tools that exist already')
    .choices(['skip', 'fail'])
    .default('fail');
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
    run: (cli, [file]: [string], options: { conflict: string }) => importZip(cli, file, options.conflict),
  });
  define(setting, take, {
    usage: 'openapi <source>',
    summary: 'make one HTTP tool of every operation of an OpenAPI document: a file, a URL, or -',
    options: [
      new Option('--bundle <slug>', 'the bundle; made from the title when left out'),
      new Option('--base-url <url>', 'where the API is, when the document does not say'),
      conflict(),
      dryRun(),
    ],
    examples: [
      'oubliette import openapi petstore.yaml --bundle pets',
      'oubliette import openapi https://api.example.com/openapi.json --dry-run',
    ],
    run: (cli, [source]: [string], options: ApiOptions) => importOpenApi(cli, source, options),
  });
  define(setting, take, {
    usage: 'curl <command>',
    summary: 'make one HTTP tool of a curl command; credentials in it become secrets',
    options: [
      new Option('--bundle <slug>', 'the bundle that gets the tool').makeOptionMandatory(),
      new Option('--slug <slug>', 'slug of the tool; made from method and path when left out'),
      dryRun(),
    ],
    examples: [`oubliette import curl 'curl https://api.example.com/items?limit=5' --bundle example`],
    run: (cli, [command]: [string], options: { bundle: string; slug?: string; dryRun?: boolean }) =>
      importCurl(cli, command, options),
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

interface ApiOptions {
  bundle?: string;
  baseUrl?: string;
  conflict: string;
  dryRun?: boolean;
}

async function importOpenApi(cli: Cli, source: string, options: ApiOptions): Promise<void> {
  const isUrl = /^https?:\/\//i.test(source);
  const report = await cli.call<ApiReport>('catalog_import_openapi', {
    ...(isUrl ? { url: source } : { text: (await bytesOf(cli, source)).toString('utf8') }),
    ...(options.bundle && { bundle: options.bundle }),
    ...(options.baseUrl && { base_url: options.baseUrl }),
    ...(options.dryRun ? { dry_run: true } : { conflict: options.conflict }),
  });
  cli.print(report, () =>
    [
      options.dryRun
        ? `Would import ${report.imported} of ${report.operations} operations into ${report.bundle}.`
        : `Imported ${report.tools_created} of ${report.operations} operations into ${report.bundle}${report.tools_skipped ? `, ${report.tools_skipped} were there already` : ''}.`,
      ...report.not_imported.map((each) =>
        harmless(`  left out ${each.operation ?? ''}: ${each.reason ?? JSON.stringify(each)}`),
      ),
      ...secretLines(report.secrets),
    ].join('\n'),
  );
}

async function importCurl(
  cli: Cli,
  command: string,
  options: { bundle: string; slug?: string; dryRun?: boolean },
): Promise<void> {
  const text = command === '-' ? await cli.stdin('the command') : command;
  const report = await cli.call<CurlReport>('catalog_import_curl', {
    command: text,
    bundle: options.bundle,
    ...(options.slug && { slug: options.slug }),
    ...(options.dryRun && { dry_run: true }),
  });
  cli.print(report, () =>
    [
      `${options.dryRun ? 'Would make' : 'Made'} ${report.bundle}/${report.tool}.`,
      ...report.notes.map((note) => harmless(`  ${note}`)),
      ...(report.secrets.length > 0 ? [`Secrets: ${report.secrets.join(', ')}`] : []),
    ].join('\n'),
  );
}

const secretLines = (names: string[]): string[] =>
  names.length === 0
    ? []
    : ['It needs these secrets:', columns(names.map((name) => [`  ${name}`, `oubliette secret set ${name}`]))];

async function bytesOf(cli: Cli, file: string): Promise<Buffer> {
  if (file === '-') return bufferOf(cli.terminal.input);
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new BadUsage(`${file} cannot be read (${error.code})`);
  });
}
