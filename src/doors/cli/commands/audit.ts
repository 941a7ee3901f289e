import { Option } from 'commander';
import { define, group, wholeNumber, type Setting } from '../define.ts';
import { Silent } from '../failure.ts';
import { columns } from '../output.ts';

interface AuditRow {
  at: string;
  tool: string;
  level: string;
  door: string;
  token_id: string | null;
  outcome: string;
  duration_ms: number;
}

export function addAudit(setting: Setting): void {
  const audit = group(setting, 'audit', 'the record of every call');
  define(setting, audit, {
    usage: 'list',
    summary: 'list the last calls, newest first',
    options: [
      new Option('--limit <count>', 'at most this many').default(20).argParser(wholeNumber()),
      new Option('--tool <name>', 'only calls of this tool'),
      new Option('--token <id>', 'only calls with this token'),
    ],
    examples: ['oubliette audit list', 'oubliette audit list --tool demo_foo --limit 5'],
    async run(cli, _args, options: { limit: number; tool?: string; token?: string }) {
      const answer = await cli.call<{ rows: AuditRow[] }>('audit_list', {
        limit: options.limit,
        ...(options.tool && { tool: options.tool }),
        ...(options.token && { token_id: options.token }),
      });
      cli.print(answer, () =>
        columns([
          ['AT', 'TOOL', 'LEVEL', 'DOOR', 'TOKEN', 'MS', 'OUTCOME'].map((text) => cli.paint('dim', text)),
          ...answer.rows.map((row) => [
            row.at.slice(0, 19).replace('T', ' '),
            row.tool,
            row.level,
            row.door,
            row.token_id ?? '-',
            row.duration_ms.toFixed(1),
            row.outcome === 'ok' ? row.outcome : cli.paint('yellow', row.outcome),
          ]),
        ]),
      );
    },
  });
  define(setting, audit, {
    usage: 'verify',
    summary: 'check that no row of the audit was changed or removed',
    examples: ['oubliette audit verify'],
    async run(cli) {
      const answer = await cli.call<{ ok: boolean; rows: number; brokenAt?: number; broken_at?: number }>(
        'audit_verify',
      );
      const brokenAt = answer.brokenAt ?? answer.broken_at;
      cli.print(answer, () =>
        answer.ok
          ? `${answer.rows} rows, unbroken.`
          : `Broken at row ${brokenAt} of ${answer.rows}: it or a row before it was changed or removed.`,
      );
      if (!answer.ok) throw new Silent(1);
    },
  });
  define(setting, audit, {
    usage: 'prune',
    summary: 'remove old rows of the audit; what is left can still be verified',
    options: [
      new Option('--older-than-days <days>', 'rows of calls that began longer ago than this')
        .makeOptionMandatory()
        .argParser(wholeNumber()),
    ],
    examples: ['oubliette audit prune --older-than-days 365'],
    async run(cli, _args, options: { olderThanDays: number }) {
      const answer = await cli.call<{ deleted: number }>('audit_prune', { older_than_days: options.olderThanDays });
      cli.print(answer, () => `${answer.deleted} rows removed.`);
    },
  });
}
