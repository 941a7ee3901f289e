import { Option } from 'commander';
import { findBundle } from '../catalog-client.ts';
import { define, type Setting } from '../define.ts';
import { cannotWrite } from '../failure.ts';
import { harmless } from '../output.ts';
import { writeWhole } from '../write-whole.ts';

export function addExport(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'export [bundle...]',
    summary: 'write bundles and their tools into a ZIP file',
    options: [
      new Option('--out <file>', 'the file to write; - for standard output').default('bundles.zip'),
      new Option('--damaged <policy>', 'what happens to files of the catalog that cannot be read')
        .choices(['skip', 'fail'])
        .default('fail'),
    ],
    examples: ['oubliette export', 'oubliette export weather --out weather.zip'],
    async run(cli, [refs], options: { out: string; damaged: string }) {
      const server = await cli.server();
      const ids = await Promise.all(refs.map(async (ref) => (await findBundle(server, ref)).id));
      const query = new URLSearchParams({ damaged: options.damaged, ...(ids.length > 0 && { bundleIDs: ids.join() }) });
      const zip = await server.bytes('GET', `/tools/export?${query}`);
      const leftOut = options.damaged === 'skip' ? await (await import('../../../gate/index.ts')).leftOutOf(zip) : [];
      const lines = leftOut.map(({ file, reason }) => `  left out ${file}: ${reason}`);
      if (options.out === '-') {
        cli.terminal.output.write(zip);
        for (const line of lines) cli.terminal.errors.write(`${harmless(line)}\n`);
        return;
      }
      await writeWhole(options.out, zip).catch(cannotWrite(options.out));
      cli.print({ file: options.out, bytes: zip.length, ...(leftOut.length > 0 && { leftOut }) }, () =>
        [`Wrote ${options.out} (${zip.length} bytes).`, ...lines.map(harmless)].join('\n'),
      );
    },
  });
}
