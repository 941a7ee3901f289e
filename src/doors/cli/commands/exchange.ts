import { writeFile, readFile } from 'node:fs/promises';
import { Option } from 'commander';
import { collect, define, type Setting } from '../define.ts';
import { importClients } from './clients.ts';
import { BadUsage } from '../failure.ts';
import { findBundle } from '../catalog-client.ts';

interface ImportReport {
  bundles: { created: number; skipped: number };
  tools: { created: number; skipped: number };
  skipped?: string[];
}

export function addExchange(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'export [bundle...]',
    summary: 'write bundles and their tools into a ZIP file',
    options: [new Option('--out <file>', 'the file to write; - for standard output').default('bundles.zip')],
    examples: ['oubliette export', 'oubliette export weather --out weather.zip'],
    async run(cli, [refs]: [string[]], options: { out: string }) {
      const server = await cli.server();
      const ids = await Promise.all(refs.map(async (ref) => (await findBundle(server, ref)).id));
      const zip = await server.bytes('GET', `/tools/export${ids.length > 0 ? `?bundleIDs=${ids.join(',')}` : ''}`);
      if (options.out === '-') return void cli.terminal.output.write(zip);
      await writeFile(options.out, zip);
      cli.print({ file: options.out, bytes: zip.length }, () => `Wrote ${options.out} (${zip.length} bytes).`);
    },
  });
  define(setting, setting.program, {
    usage: 'import <file>',
    summary:
      'take in bundles from a ZIP file (- reads standard input), or with `clients` the MCP servers of other AI clients',
    options: [
      new Option('--yes', 'with clients: do not ask'),
      new Option('--only <name>', 'with clients: only this server; may be repeated').argParser(collect),
      new Option('--conflict <policy>', 'what happens to tools that exist already')
        .choices(['skip', 'fail'])
        .default('fail'),
    ],
    examples: [
      'oubliette import weather.zip',
      'oubliette import weather.zip --conflict skip',
      'oubliette import clients',
    ],
    async run(cli, [file]: [string], options: { conflict: string; yes?: boolean; only?: string[] }) {
      if (file === 'clients') return importClients(cli, options);
      const bytes = file === '-' ? await bytesOf(cli.terminal.input) : await readInput(file);
      const report = await (
        await cli.server()
      ).json<ImportReport>('POST', `/tools/import?conflict=${options.conflict}`, {
        bytes,
        contentType: 'application/zip',
      });
      cli.print(report, () =>
        [
          `Bundles: ${report.bundles.created} new, ${report.bundles.skipped} there already. Tools: ${report.tools.created} new, ${report.tools.skipped} skipped.`,
          ...(report.skipped ?? []).map((line) => `  skipped ${line}`),
        ].join('\n'),
      );
    },
  });
}

async function readInput(file: string): Promise<Uint8Array> {
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new BadUsage(`${file} cannot be read (${error.code})`);
  });
}

async function bytesOf(stream: NodeJS.ReadableStream): Promise<Uint8Array> {
  const { buffer } = await import('node:stream/consumers');
  return buffer(stream);
}
