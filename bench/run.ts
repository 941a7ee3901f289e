// Runs the benchmarks and prints one table: what, ours, other, ratio, goal.
//   npm run bench                all of them
//   npm run bench -- NAME ..     some
//
// A benchmark is a file bench/<name>.bench.ts with two exports:
//   export const about: string                        one sentence for --help
//   export async function bench(): Promise<Row[]>     measures and answers rows (see measure.ts)
// Measure both sides in the same run with `interleave` (several rounds, in turns): a time alone means nothing on a shared
// machine. `load.ts` is a cheap HTTP client, `peers.ts` installs what we compare with, `test/kit/running-server.ts`
// starts a real server. A benchmark cleans up after itself and never leaves a process behind.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { judge, type Row } from './measure.ts';

interface Bench {
  about: string;
  bench(): Promise<Row[]>;
}

const here = import.meta.dirname;
const known = globSync('*.bench.ts', { cwd: here })
  .map((file) => basename(file, '.bench.ts'))
  .sort();
const wanted = process.argv.slice(2);
if (wanted.includes('--help') || wanted.some((name) => !known.includes(name))) {
  console.log(`npm run bench [-- NAME ..], where NAME is one of: ${known.join(', ')}`);
  process.exit(wanted.includes('--help') ? 0 : 2);
}

const at = new Date().toISOString();
const results: { bench: string; [field: string]: unknown }[] = [];
let missed = 0;
for (const name of wanted.length > 0 ? wanted : known) {
  const { about, bench } = (await import(join(here, `${name}.bench.ts`))) as Bench;
  console.log(`\n${name}: ${about}`);
  try {
    print(await bench(), name);
  } catch (error) {
    missed++;
    console.log(`  failed: ${error instanceof Error ? error.stack : String(error)}`);
    results.push({ bench: name, at, failed: String(error) });
  }
}
keep();
console.log(missed === 0 ? '\nEvery goal is met.' : `\n${missed} goals are missed.`);
process.exitCode = missed === 0 ? 0 : 1;

/** Writes what was measured into the file; what was not measured this time stays as it was. */
function keep(): void {
  const file = join(here, 'results.json');
  const before = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { results: typeof results }).results
    : [];
  const all = [...before.filter(({ bench }) => !results.some((row) => row.bench === bench)), ...results];
  all.sort((a, b) => a.bench.localeCompare(b.bench));
  const summary = { at, node: process.version, cores: availableParallelism(), results: all };
  writeFileSync(file, `${JSON.stringify(summary, null, 2)}\n`);
}

function print(rows: Row[], name: string): void {
  const lines = [['what', 'ours', 'spread', 'other', 'ratio', 'goal', '']];
  for (const row of rows) {
    const found = judge(row);
    if (found.isMet === false) missed++;
    lines.push([
      row.what,
      `${number(found.ours)} ${row.unit}`,
      `±${(found.spread * 100).toFixed(0)} %`,
      found.other === undefined ? '' : `${number(found.other)} ${row.otherName ?? ''}`,
      found.ratio === undefined ? '' : `${found.ratio.toFixed(2)}x`,
      found.goal,
      verdict(found.isMet),
    ]);
    results.push({ bench: name, at, ...row, ...found, rounds: { ours: row.ours, other: row.other } });
  }
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  for (const line of lines)
    console.log(
      `  ${line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd()}`,
    );
}

function number(value: number): string {
  if (value >= 1000) return Math.round(value).toLocaleString('en');
  if (value >= 100) return value.toFixed(0);
  return value >= 1 ? value.toFixed(2) : value.toPrecision(3);
}

function verdict(isMet: boolean | undefined): string {
  if (isMet === undefined) return '';
  return isMet ? 'met' : 'MISSED';
}
