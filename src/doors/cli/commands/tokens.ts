import { Option } from 'commander';
import { collect, define, group, type Setting } from '../define.ts';
import { BadUsage } from '../failure.ts';
import { columns, harmless, oneLine, shortTime } from '../output.ts';
import { projectId } from './projects.ts';

interface TokenRow {
  id: string;
  name: string;
  scope: string;
  projects?: string[] | null;
  bundles?: string[] | null;
  expires_at?: string | null;
  last_used_at?: string | null;
  revoked?: boolean;
  token?: string;
  warnings?: string[];
}

export function addTokens(setting: Setting): void {
  const token = group(setting, 'token', 'make, list, revoke and rotate API keys');
  define(setting, token, {
    usage: 'create',
    summary: 'make a token; it is shown this once',
    options: [
      new Option('--name <name>', 'what it is for').makeOptionMandatory(),
      new Option('--scope <level>', 'read, write or admin').choices(['read', 'write', 'admin']).makeOptionMandatory(),
      new Option('--project <project>', 'only this project, by id or name; may be repeated').argParser(collect),
      new Option('--bundle <slug>', 'only this bundle; may be repeated').argParser(collect),
      new Option('--ttl <time>', 'valid for 30s, 15m, 1h, 7d').argParser(seconds),
    ],
    examples: [
      'oubliette token create --name ci --scope write --ttl 1h',
      'oubliette token create --name bot --scope read --bundle text --json',
    ],
    async run(
      cli,
      _args,
      options: { name: string; scope: string; project?: string[]; bundle?: string[]; ttl?: number },
    ) {
      const made = await cli.call<TokenRow>('token_create', {
        name: options.name,
        scope: options.scope,
        ...(options.project && { projects: await Promise.all(options.project.map((ref) => projectId(cli, ref))) }),
        ...(options.bundle && { bundles: options.bundle }),
        ...(options.ttl !== undefined && { ttl_seconds: options.ttl }),
      });
      for (const warning of made.warnings ?? []) cli.note(`warning: ${harmless(warning)}`);
      cli.print(made, () => once(made));
    },
  });
  define(setting, token, {
    usage: 'list',
    summary: 'list the tokens, never their secret',
    examples: ['oubliette token list', 'oubliette token list --json'],
    async run(cli) {
      const tokens = await cli.rows<TokenRow>('token_list', 'tokens');
      cli.print({ tokens }, () =>
        columns([
          ['ID', 'NAME', 'SCOPE', 'ONLY FOR', 'LAST USED', 'EXPIRES', ''].map((text) => cli.paint('dim', text)),
          ...tokens.map((each) => [
            each.id,
            inLine(each.name),
            each.scope,
            inLine([...(each.projects ?? []), ...(each.bundles ?? [])].join(' ')) || '-',
            shortTime(each.last_used_at),
            shortTime(each.expires_at),
            each.revoked ? cli.paint('yellow', 'revoked') : '',
          ]),
        ]),
      );
    },
  });
  define(setting, token, {
    usage: 'revoke <token-id>',
    summary: 'end a token at once',
    examples: ['oubliette token revoke tok_...'],
    async run(cli, [id]) {
      const answer = await cli.call('token_revoke', { token_id: id });
      cli.print(answer, () => `Revoked ${id}.`);
    },
  });
  define(setting, token, {
    usage: 'rotate <token-id>',
    summary: 'replace the secret of a token; what it owns stays',
    examples: ['oubliette token rotate tok_...'],
    async run(cli, [id]) {
      const made = await cli.call<TokenRow>('token_rotate', { token_id: id });
      cli.print(made, () => once(made));
    },
  });
}

const inLine = (text: string): string => oneLine(harmless(text), Infinity);

const once = (made: TokenRow) =>
  `${made.token}\n\n${made.id} (${made.scope}${made.expires_at ? `, until ${shortTime(made.expires_at)}` : ''}). Keep it: it is not shown again.`;

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** `90`, `30s`, `15m`, `1h`, `7d`, `2w`. */
export function seconds(text: string): number {
  const [, count, unit] = /^(\d+)([smhdw]?)$/.exec(text) ?? [];
  const value = Number(count) * (unitSeconds[unit || 's'] ?? 0);
  if (!count || value < 1 || !Number.isSafeInteger(value))
    throw new BadUsage(`${text} is no time. Write it as 30s, 15m, 1h or 7d`);
  return value;
}
