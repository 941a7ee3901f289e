import { Option } from 'commander';
import { collect, define, group, type Setting } from '../define.ts';
import { BadUsage } from '../failure.ts';
import { columns, shortTime } from '../output.ts';

interface SecretRow {
  name: string;
  hosts?: string[];
  updated_at?: string;
  modified_at?: string;
  created_at?: string;
}

const destinations = ({ hosts }: SecretRow): string => (hosts?.length ? hosts.join(', ') : 'any allowed host');

export function addSecrets(setting: Setting): void {
  const secret = group(setting, 'secret', 'set, list and remove secrets; they can never be read back');
  define(setting, secret, {
    usage: 'set <name>',
    summary: 'store a secret; its value comes from standard input',
    options: [
      new Option('--host <host>', 'may be sent to this host only; may be repeated').argParser(collect),
      new Option('--any-host', 'may be sent to every allowed host, also if it was bound before').conflicts('host'),
    ],
    examples: [
      'oubliette secret set GITHUB_TOKEN --host api.github.com < token.txt',
      'printf %s "$KEY" | oubliette secret set OPENAI_KEY',
    ],
    async run(cli, [name], options: { host?: string[]; anyHost?: true }) {
      const value = (await cli.hiddenStdin('the secret')).replace(/\r?\n$/, '');
      if (value === '') throw new BadUsage('Standard input was empty. Pipe the secret into this command');
      const hosts = options.anyHost ? [] : options.host;
      const answer = await cli.call<SecretRow>('secret_set', { name, value, ...(hosts && { hosts }) });
      cli.print(answer, () => `Stored ${name}. It may be sent to: ${destinations(answer)}`);
    },
  });
  define(setting, secret, {
    usage: 'list',
    summary: 'list the names of the secrets',
    examples: ['oubliette secret list'],
    async run(cli) {
      const answer = await cli.call<{ secrets: SecretRow[] }>('secret_list');
      cli.print(answer, () =>
        answer.secrets.length === 0
          ? 'There are no secrets.'
          : columns(
              answer.secrets.map((each) => [
                cli.paint('cyan', each.name),
                shortTime(each.updated_at ?? each.modified_at ?? each.created_at),
                destinations(each),
              ]),
            ),
      );
    },
  });
  define(setting, secret, {
    usage: 'remove <secret>',
    summary: 'forget a secret',
    examples: ['oubliette secret remove WEATHER_KEY'],
    async run(cli, [name]) {
      const answer = await cli.call('secret_remove', { name });
      cli.print(answer, () => `Removed ${name}.`);
    },
  });
}
