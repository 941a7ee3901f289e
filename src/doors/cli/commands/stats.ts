import { Option } from 'commander';
import { define, type Setting } from '../define.ts';
import { columns, harmless } from '../output.ts';

interface Overview {
  total_calls: number;
  success_rate: number;
  avg_duration_ms: number;
  tokens_saved: number;
  groups: Record<string, unknown>[];
}

export function addStats(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'stats [tool]',
    summary: 'how often tools were called, and how it went',
    options: [
      new Option('--period <period>', 'how far back').choices(['day', 'week', 'month', 'all']).default('week'),
      new Option('--by <what>', 'what to group by').choices(['tool', 'token', 'project']).default('tool'),
    ],
    examples: ['oubliette stats', 'oubliette stats demo_foo --period day', 'oubliette stats --by token'],
    async run(cli, [tool], options: { period: string; by: string }) {
      const answer = await cli.call<Overview>('stats_overview', {
        period: options.period,
        by: options.by,
        ...(tool && { tool }),
      });
      cli.print(answer, () =>
        [
          answer.total_calls === 0
            ? `Nothing was called${tool ? ` by the name ${tool}` : ''} in this time.`
            : `${answer.total_calls} calls, ${(answer.success_rate * 100).toFixed(1)} % succeeded, ${answer.avg_duration_ms.toFixed(1)} ms on average.`,
          ...(answer.groups.length === 0
            ? []
            : [columns([headings(answer.groups[0]!, options.by), ...rows(answer.groups)])]),
        ].join('\n'),
      );
    },
  });
}

const titles: Record<string, string> = {
  total_calls: 'CALLS',
  error_count: 'FAILED',
  avg_duration_ms: 'AVERAGE MS',
  result_bytes: 'BYTES ANSWERED',
};

const headings = (group: Record<string, unknown>, by: string): string[] =>
  Object.keys(group).map((key) => titles[key] ?? (key === 'name' ? by : key).toUpperCase());

const rows = (groups: readonly Record<string, unknown>[]): string[][] =>
  groups.map((group) => Object.values(group).map((value) => harmless(shown(value))));

const shown = (value: unknown): string =>
  typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(2) : String(value ?? '-');
