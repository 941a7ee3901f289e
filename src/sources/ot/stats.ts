import { constants } from 'node:fs';
import { access, open, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import type { Observer, Reach, Stats, StatsQuery, ToolStats } from '../../observe/index.ts';
import { reaches, type Actor, type Settings } from '../../schema/index.ts';
import { makeFolder, replaceFile } from '../../store/index.ts';
import { hiddenMenuTokens, type MenuDeps } from './menu-tokens.ts';
import { reportHtml, reportMark } from './stats-report.ts';

export interface StatsDeps extends MenuDeps {
  settings: () => Settings;
  observe: Pick<Observer, 'stats' | 'series'>;
  reportsFolder: string;
  version: string;
}

export interface StatsArgs {
  period: string;
  tool: string;
  output: string;
}

const periods = ['day', 'week', 'month', 'all'] as const;
type Period = (typeof periods)[number];
/** Tokens that a model reads in a millisecond before it answers; documented with the formula. */
const tokensPerMs = 10;
const bucketMs: Record<Period, number> = {
  day: 3600_000,
  week: 6 * 3600_000,
  month: 24 * 3600_000,
  all: 24 * 3600_000,
};

/** `ot.stats`: what was called, how it went, and what code mode saved. Mistakes are answered as text. */
export async function stats(deps: StatsDeps, actor: Actor, { period, tool, output }: StatsArgs): Promise<unknown> {
  if (!deps.settings().stats.enabled)
    return 'Error: Statistics are disabled. Enable them in config.yaml: stats: {enabled: true}';
  if (!isPeriod(period))
    return `Error: Invalid period '${period}'. Valid: ${periods.join(', ')}. Example: ot.stats(period='day')`;
  const query: StatsQuery = { period, ...(tool !== '' && { tool }), reach: reachOf(actor) };
  const counted = withoutRun(await deps.observe.stats(query));
  const contextSaved = counted.total_calls * (await hiddenMenuTokens(deps, actor));
  const answer = {
    period,
    ...(tool !== '' && { tool }),
    total_calls: counted.total_calls,
    success_rate: percent(counted.success_count, counted.total_calls),
    context_saved: contextSaved,
    time_saved_ms: Math.round(contextSaved / tokensPerMs),
    tools: counted.tools.map((each) => ({ ...each, success_rate: percent(each.success_count, each.total_calls) })),
  };
  if (output === '') return answer;
  const series = await deps.observe.series({ ...query, bucketMs: bucketMs[period] });
  const written = await writeReport(deps, actor, output, () =>
    reportHtml({ ...answer, series, version: deps.version, madeAt: new Date() }),
  );
  return 'problem' in written
    ? `Error: Cannot write to '${output}': ${written.problem}`
    : { ...answer, html_report: written.path };
}

const isPeriod = (text: string): text is Period => (periods as readonly string[]).includes(text);

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10);

/** Admins see everything; others what their token reaches. */
function reachOf(actor: Actor): Reach {
  return {
    ...(actor.level !== 'admin' && { principal: actor.principal }),
    ...(actor.projects && { projects: actor.projects }),
    ...(actor.bundles && { bundles: actor.bundles }),
  };
}

/** A program is not a tool call of its own: its inner calls are counted, one by one. */
function withoutRun(all: Stats): { total_calls: number; success_count: number; tools: ToolStats[] } {
  const tools = all.tools.filter(({ tool }) => tool !== 'run' && tool !== 'code.run');
  const sum = (pick: (each: ToolStats) => number): number => tools.reduce((total, each) => total + pick(each), 0);
  return { total_calls: sum((each) => each.total_calls), success_count: sum((each) => each.success_count), tools };
}

/** Writes a report below the folders meant for it; only a report may be replaced. */
async function writeReport(
  deps: StatsDeps,
  actor: Actor,
  output: string,
  html: () => string,
): Promise<{ path: string } | { problem: string }> {
  if (!reaches(actor.level, 'write')) return { problem: 'this needs write level' };
  if (extname(output) !== '.html') return { problem: 'the name must end in .html' };
  const path = resolve(deps.reportsFolder, output);
  const folders = [deps.reportsFolder, ...deps.settings().stats.reportDirs];
  const folder = folders.find((each) => path.startsWith(resolve(each) + sep));
  if (folder === undefined) return { problem: `reports lie in ${folders.join(' or ')}` };
  try {
    await makeFolder(folder);
    // Links on the way must not lead out of the folder.
    const parent = await realpath(dirname(path));
    const root = await realpath(folder);
    if (parent !== root && !parent.startsWith(root + sep)) return { problem: `reports lie in ${folders.join(' or ')}` };
    const target = join(parent, basename(path));
    if (!(await mayReplace(target))) return { problem: 'a file that is no report is there already' };
    await access(parent, constants.W_OK);
    await replaceFile(target, html());
    return { path };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

async function mayReplace(path: string): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    await file.close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
  return (await readFile(path, 'utf8')).includes(reportMark);
}
