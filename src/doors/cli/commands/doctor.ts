import { define, type Setting } from '../define.ts';
import { CommandFailure, Silent } from '../failure.ts';
import { harmless } from '../output.ts';

const marks = { ok: ['green', 'ok  '], warn: ['yellow', 'warn'], fail: ['red', 'fail'] } as const;

export function addDoctor(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'doctor',
    summary: 'check this machine, the data folder and the server, and say what to do',
    examples: ['oubliette doctor', 'oubliette doctor --json'],
    async run(cli) {
      if (!setting.programs.doctor) throw new CommandFailure('not_supported', 'doctor is not part of this build.');
      const report = await setting.programs.doctor({ home: cli.home });
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
