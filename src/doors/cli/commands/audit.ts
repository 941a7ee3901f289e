import { define, group, type Setting } from '../define.ts';
import { Silent } from '../failure.ts';

export function addAudit(setting: Setting): void {
  const audit = group(setting, 'audit', 'the record of every call');
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
}
