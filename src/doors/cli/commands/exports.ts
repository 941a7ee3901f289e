import { writeFile } from 'node:fs/promises';
import { Option } from 'commander';
import { findBundle } from '../catalog-client.ts';
import { define, type Setting } from '../define.ts';
import { cannotWrite } from '../failure.ts';

export function addExport(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'export [bundle...]',
    summary: 'write bundles and their tools into a ZIP file',
    options: [new Option('--out <file>', 'the file to write; - for standard output').default('bundles.zip')],
    examples: ['oubliette export', 'oubliette export weather --out weather.zip'],
    async run(cli, [refs], options: { out: string }) {
      const server = await cli.server();
      const ids = await Promise.all(refs.map(async (ref) => (await findBundle(server, ref)).id));
      const zip = await server.bytes('GET', `/tools/export${ids.length > 0 ? `?bundleIDs=${ids.join(',')}` : ''}`);
      if (options.out === '-') return void cli.terminal.output.write(zip);
      await writeFile(options.out, zip).catch(cannotWrite(options.out));
      cli.print({ file: options.out, bytes: zip.length }, () => `Wrote ${options.out} (${zip.length} bytes).`);
    },
  });
}
