import { constants } from 'node:fs';
import { access, open, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import type { Observer, Reach, StatsQuery } from '../../observe/index.ts';
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
  const { total_calls, success_rate, tools } = await deps.observe.stats(query);
  const context_saved = total_calls * (await hiddenMenuTokens(deps, actor));
  const time_saved_ms = Math.round(context_saved / tokensPerMs);
  const about = tool === '' ? { period } : { period, tool };
  const answer = { ...about, total_calls, success_rate, context_saved, time_saved_ms, tools };
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

/** Admins see everything; others what their token reaches. */
function reachOf(actor: Actor): Reach {
  return {
    ...(actor.level !== 'admin' && { principal: actor.principal }),
    ...(actor.projects && { projects: actor.projects }),
    ...(actor.bundles && { bundles: actor.bundles }),
  };
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
