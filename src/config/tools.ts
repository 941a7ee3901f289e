import { Type } from 'typebox';
import { demandUnconfined, fail, offerTool, type BuiltInBundle, type Call } from '../schema/index.ts';
import type { ConfigRoom } from './config-room.ts';
import { configJsonSchema } from './published-schema.ts';
import { asWritten } from './settings.ts';

/**
 * What can run commands on this machine or write where it likes: changed only by the command line on the machine,
 * unless http.allowRemoteConfig is on.
 */
const machineOnly = [
  'include',
  'servers',
  'agents',
  'fs',
  'notify',
  'stats.reportDirs',
  'http.allowRemoteConfig',
] as const;

const strict = { additionalProperties: false };
const NoArgs = Type.Object({}, strict);
const SetArgs = Type.Object(
  {
    path: Type.Array(Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Integer({ minimum: 0 })]), {
      minItems: 1,
      maxItems: 8,
      description: 'Where in config.yaml, for example ["limits", "depth"]',
    }),
    value: Type.Optional(
      Type.Unknown({ description: 'The new value; without it the key is removed and its default holds again' }),
    ),
  },
  strict,
);

/** The server's own `settings_*` tools: config.yaml read and changed from afar. */
export function settingsTools(config: ConfigRoom): BuiltInBundle {
  return {
    slug: 'settings',
    displayName: 'Settings',
    description: 'config.yaml: what holds now, and one change at a time',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'get',
        description:
          'The configuration that holds now, every default filled in, with its JSON Schema and what is wrong with the file.',
        level: 'admin',
        argSchema: NoArgs,
        returns: '{settings, schema, problems, machine_only}',
        example: 'settings.get()',
        run: () => ({
          settings: asWritten(config.current()),
          schema: configJsonSchema(),
          problems: config.report().errors,
          machine_only: isOpen(config) ? [] : machineOnly,
        }),
      }),
      offerTool({
        slug: 'set',
        description:
          'Set or remove one value in config.yaml; comments stay, and a result that is not valid is refused as a whole.',
        level: 'admin',
        argSchema: SetArgs,
        returns: '{path, settings}',
        example: 'settings.set(path=["limits", "depth"], value=2)',
        run: async ({ path, value }, call) => {
          demandUnconfined(call.actor, 'Changing settings');
          if (!isLocal(call) && !isOpen(config) && touchesMachine(path)) throw fail('remote_config.refused');
          await config.edit(path, value);
          return { path, settings: asWritten(config.current()) };
        },
      }),
      offerTool({
        slug: 'reload',
        description: 'Read config.yaml and prompts.yaml again, all or nothing.',
        level: 'admin',
        argSchema: NoArgs,
        returns: '{ok, errors}',
        example: 'settings.reload()',
        run: () => config.reload(),
      }),
    ],
  };
}

const isOpen = (config: ConfigRoom): boolean => config.current().http.allowRemoteConfig;
const isLocal = ({ actor }: Call): boolean => actor.door === 'cli' || actor.kind === 'local';

/** True when the change lies in, or holds, something that only the machine itself may change. */
function touchesMachine(path: readonly (string | number)[]): boolean {
  const at = path.join('.');
  return machineOnly.some((each) => at === each || at.startsWith(`${each}.`) || each.startsWith(`${at}.`));
}
