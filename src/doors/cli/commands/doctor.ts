import type { DoctorReport } from '../../../observe/index.ts';
import type { Cli } from '../cli.ts';
import { define, type Setting } from '../define.ts';
import { CommandFailure, Silent } from '../failure.ts';
import { runningServer } from '../find-server.ts';
import { harmless } from '../output.ts';

const patienceMs = 6_000;
const marks = { ok: ['green', 'ok  '], warn: ['yellow', 'warn'], fail: ['red', 'fail'] } as const;

export function addDoctor(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'doctor',
    summary: 'check this machine, the data folder and the server, and say what to do',
    examples: ['oubliette doctor', 'oubliette doctor --json'],
    async run(cli) {
      if (!setting.programs.doctor) throw new CommandFailure('not_supported', 'doctor is not part of this build.');
      const report = await withServer(cli, await setting.programs.doctor({ home: cli.home }));
      cli.print(report, () =>
        report.checks
          .map((check) => {
            const [colour, mark] = marks[check.status];
            return `${cli.paint(colour, mark)}  ${check.name}: ${harmless(check.text)}${check.advice ? `\n      ${cli.paint('dim', harmless(check.advice))}` : ''}`;
          })
          .join('\n'),
      );
      if (!report.ok) throw new Silent(1);
    },
  });
}

/** Adds what only the server that runs here knows: its catalog, its packs, the MCP servers behind it. */
async function withServer(cli: Cli, report: DoctorReport): Promise<DoctorReport> {
  const isWell = report.checks.some(({ name, status }) => name === 'server' && status === 'ok');
  if (!isWell || cli.env['OUBLIETTE_URL'] || !(await runningServer(cli.home))) return report;
  // Without an answer, or with a token that may not ask, there is still what was seen from outside.
  const told = await cli.call<DoctorReport>('doctor_run', {}, AbortSignal.timeout(patienceMs)).catch(() => undefined);
  const known = new Set(report.checks.map(({ name }) => name));
  const more = (told?.checks ?? []).filter(({ name }) => !known.has(name));
  return {
    ok: report.ok && more.every(({ status }) => status !== 'fail'),
    checks: [...report.checks, ...more],
  };
}
