import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bundle } from '../../../schema/index.ts';
import { listBundles } from '../catalog-client.ts';
import type { Cli } from '../cli.ts';
import { define, group, type Setting } from '../define.ts';
import { BadUsage, cannotWrite, CommandFailure } from '../failure.ts';
import { runningServer } from '../find-server.ts';

export function addPacks(setting: Setting): void {
  const pack = group(setting, 'pack', 'bundles of functions in a file of your own');
  define(setting, pack, {
    usage: 'new <name>',
    summary: 'write a commented example into the packs folder',
    examples: ['oubliette pack new weather'],
    async run(cli, [name]) {
      if (!/^[a-z][a-z0-9-]{0,62}$/.test(name))
        throw new BadUsage(`${name} is no name for a pack. Use small letters, digits and dashes`);
      const folder = join(cli.home, 'packs');
      const file = join(folder, `${name}.ts`);
      const isTaken = (await knownBundles(cli)).some((each) => each.slug === name && each.kind !== 'pack');
      if (isTaken) throw new CommandFailure('bundle.exists', `There is a bundle ${name} already. Choose another name.`);
      await mkdir(folder, { recursive: true, mode: 0o700 }).catch(cannotWrite(folder));
      await writeFile(file, example(name), { flag: 'wx', mode: 0o600 }).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST')
          throw new CommandFailure('request.invalid', `${file} exists already. Choose another name, or edit it.`);
        // Half of it would be in the way of the next try.
        await rm(file, { force: true });
        return cannotWrite(file)(error);
      });
      const tool = `${name.replaceAll('-', '_')}_greet`;
      cli.print(
        { file, tool },
        () => `Wrote ${file}.\nA running server takes it in at once. Try: oubliette call ${tool} '{"name":"Ada"}'`,
      );
    },
  });
}

/** A file can be written without a server; one that runs knows which names are taken. */
async function knownBundles(cli: Cli): Promise<Bundle[]> {
  return (await runningServer(cli.home)) ? listBundles(await cli.server()) : [];
}

const example = (name: string) => `import type { Call, ToolInfo } from 'oubliette';

// The file name is the bundle's slug. Every exported function with a \`tool\` property becomes a tool.
export const bundle = { displayName: '${name}', description: 'What this bundle is for, in one sentence.' };

export async function greet(args: { name: string }, call: Call) {
  call.log('info', 'greeting', { name: args.name });
  // Throw an Error to fail: its message is what the agent reads. Return any JSON value.
  return { greeting: \`Hello, \${args.name}!\` };
}

greet.tool = {
  description: 'Greets someone by name.',
  // 'read' looks, 'write' changes something (the default), 'admin' is for the owner of the server.
  access: 'read',
  argSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Whom to greet' } },
    required: ['name'],
    additionalProperties: false,
  },
  example: '${name.replaceAll('-', '_')}.greet(name="Ada")',
} satisfies ToolInfo;
`;
