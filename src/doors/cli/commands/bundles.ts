import { randomUUIDv7 } from 'node:crypto';
import { Option } from 'commander';
import type { Bundle } from '../../../schema/index.ts';
import { bundlePath, findBundle, listBundles } from '../catalog-client.ts';
import { define, group, type Setting } from '../define.ts';
import { columns, harmless, oneLine } from '../output.ts';

export function addBundles(setting: Setting): void {
  const bundle = group(setting, 'bundle', 'make, list and switch bundles of tools');
  define(setting, bundle, {
    usage: 'list',
    summary: 'list the bundles',
    examples: ['oubliette bundle list', 'oubliette bundle list --json'],
    async run(cli) {
      const bundles = (await listBundles(await cli.server())).sort((a, b) => (a.slug < b.slug ? -1 : 1));
      cli.print({ bundles }, () =>
        columns(
          bundles.map((each) => [
            cli.paint('cyan', each.slug),
            each.isEnabled ? 'on' : cli.paint('yellow', 'off'),
            each.kind ?? '',
            oneLine(harmless(each.disabledReason ?? each.description ?? each.displayName), 90),
          ]),
          cli.room,
        ),
      );
    },
  });
  define(setting, bundle, {
    usage: 'create <slug>',
    summary: 'make a bundle',
    options: [
      new Option('--name <text>', 'the name that people see'),
      new Option('--description <text>', 'what it is for'),
      new Option('--id <uuid>', 'a UUIDv7 of your own'),
      new Option('--disabled', 'leave it switched off'),
    ],
    examples: ['oubliette bundle create first --name "First steps"'],
    async run(cli, [slug], options: { name?: string; description?: string; id?: string; disabled?: boolean }) {
      const body = {
        slug,
        displayName: options.name ?? slug,
        isEnabled: options.disabled !== true,
        description: options.description,
      };
      const made = await (
        await cli.server()
      ).json<Bundle>('PUT', bundlePath(encodeURIComponent(options.id ?? randomUUIDv7())), { body });
      cli.print(made, () => `Made bundle ${made.slug} (${made.id}).`);
    },
  });
  for (const [verb, isEnabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    define(setting, bundle, {
      usage: `${verb} <bundle>`,
      summary: `switch a bundle ${isEnabled ? 'on' : 'off'}`,
      examples: [`oubliette bundle ${isEnabled ? 'enable' : 'disable'} first`],
      async run(cli, [ref]) {
        const server = await cli.server();
        const changed = await server.json<Bundle>('PATCH', bundlePath((await findBundle(server, ref)).id), {
          body: { isEnabled },
        });
        cli.print(changed, () => `${changed.slug} is ${changed.isEnabled ? 'on' : 'off'}.`);
      },
    });
  define(setting, bundle, {
    usage: 'delete <bundle>',
    summary: 'delete an empty bundle',
    examples: ['oubliette bundle delete first'],
    async run(cli, [ref]) {
      const server = await cli.server();
      const found = await findBundle(server, ref);
      await server.json('DELETE', bundlePath(found.id));
      cli.print({ id: found.id, deleted: true }, () => `Deleted bundle ${found.slug}.`);
    },
  });
}
