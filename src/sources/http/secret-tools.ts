import { Type } from 'typebox';
import { demandUnconfined, fail, offerTool, type BuiltInBundle } from '../../schema/index.ts';
import type { SecretInfo, SecretStore } from '../../store/index.ts';
import { parseHostEntry } from './host-rules.ts';

const strict = { additionalProperties: false } as const;
const name = Type.String({ description: 'Name of the secret, as ${NAME} says it: letters, digits, _ and -' });

/** `secret_set`, `secret_list`, `secret_remove`, `secret_rotate`: values go in and never come out again. */
export function secretTools(secrets: SecretStore): BuiltInBundle {
  return {
    slug: 'secret',
    displayName: 'Secrets',
    description: 'Values that HTTP tools, servers and agents use without anyone seeing them.',
    isOwn: true,
    tools: [
      offerTool({
        slug: 'set',
        description:
          'Sets or replaces a secret. It can be used as ${NAME} in HTTP tools and in config.yaml, and can never be read again.',
        level: 'admin',
        argSchema: Type.Object(
          {
            name,
            value: Type.String({ description: 'The value, at least 8 characters', minLength: 8 }),
            hosts: Type.Optional(
              Type.Array(Type.String(), {
                description:
                  'Hosts it may be sent to, written as in allowedHosts; left out: those it has, or every allowed host if it is new; []: every allowed host',
              }),
            ),
          },
          strict,
        ),
        returns: 'name, hosts, created_at, updated_at',
        example: 'secret.set(name="API_KEY", value="...", hosts=["api.example.com"])',
        run: async (args, call) => {
          demandUnconfined(call.actor, 'Setting a secret');
          for (const host of args.hosts ?? [])
            if (!parseHostEntry(host))
              throw fail('args.invalid', {
                tool: 'secret_set',
                reason: `hosts: ${JSON.stringify(host.slice(0, 100))} is no host. Write api.example.com, *.example.org or 127.0.0.1:8080`,
              });
          return shown(await secrets.set(args.name, args.value, args.hosts));
        },
      }),
      offerTool({
        slug: 'list',
        description: 'Lists the secrets by name, with the hosts they may be sent to; never their values.',
        level: 'admin',
        argSchema: Type.Object({}, strict),
        returns: 'secrets: a list of name, hosts, created_at, updated_at',
        example: 'secret.list()',
        run: async () => ({ secrets: (await secrets.list()).map(shown) }),
      }),
      offerTool({
        slug: 'remove',
        description: 'Removes a secret. Tools that use it fail with secret.missing from then on.',
        level: 'admin',
        argSchema: Type.Object({ name }, strict),
        returns: 'name and removed',
        example: 'secret.remove(name="API_KEY")',
        run: async (args, call) => {
          demandUnconfined(call.actor, 'Removing a secret');
          if (!(await secrets.remove(args.name))) throw fail('secret.not_found', { ref: args.name });
          return { name: args.name, removed: true };
        },
      }),
      offerTool({
        slug: 'rotate',
        description: 'Encrypts all secrets anew under a new key and forgets the old key.',
        level: 'admin',
        argSchema: Type.Object({}, strict),
        returns: 'rotated: how many secrets were encrypted anew',
        example: 'secret.rotate()',
        run: async (_args, call) => {
          demandUnconfined(call.actor, 'Rotating the key of the secrets');
          return { rotated: await secrets.rotateKey() };
        },
      }),
    ],
  };
}

function shown(info: SecretInfo): Record<string, unknown> {
  return {
    name: info.name,
    hosts: info.hosts ?? [],
    created_at: info.createdAt,
    updated_at: info.updatedAt,
    ...(info.isUnreadable && { problem: 'its key is gone: set it again' }),
  };
}
