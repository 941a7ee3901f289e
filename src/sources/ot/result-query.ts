import { setImmediate as turn } from 'node:timers/promises';
import { RE2JS } from 're2js';
import type { Actor } from '../../schema/index.ts';
import type { ResultStore, StoredResult } from '../../store/index.ts';
import { resultOwner } from '../script/result-owner.ts';
import { similarity } from './similarity.ts';

export interface ResultQuery {
  handle: string;
  offset: number;
  limit: number;
  search?: string | null;
  fuzzy: boolean;
}

interface Answer {
  lines: string[];
  total_lines: number;
  matched_lines?: number;
  returned: number;
  offset: number;
  has_more: boolean;
}

const maxLineLength = 20_000;
/** Steps of matching that may be taken at once: as many milliseconds as everybody else can wait. */
const maxSteps = 100_000;
const maxAnswerLength = 4 * 1024 * 1024;
const leastSimilarity = 0.6;
const turnEveryMs = 5;

/** Which lines a pattern is found in, decided in a thread that is ended when it takes too long. */
export type MatchLines = (search: string, lines: readonly string[], signal: AbortSignal) => Promise<boolean[]>;

export interface ResultDeps {
  results: ResultStore;
  matchLines: MatchLines;
}

/** `ot.result`: lines of a stored output. Unknown and expired handles are answered as text; bad numbers are raised. */
export async function queryResult(
  deps: ResultDeps,
  { actor, signal }: { actor: Actor; signal: AbortSignal },
  query: ResultQuery,
): Promise<Answer | string> {
  const { results } = deps;
  const { handle, offset, limit, search } = query;
  if (offset < 1) throw new Error(`ValueError: offset must be >= 1 (1-indexed), got ${offset}`);
  if (limit < 1) throw new Error(`ValueError: limit must be >= 1, got ${limit}`);
  const found = await results.find(resultOwner(actor), handle);
  if (found === undefined) return `Error: Result handle '${handle}' not found`;
  if (found === 'expired') return `Error: Result '${handle}' has expired. Run the program again`;
  if (!search) return answer(await results.lines(found, offset, limit), found.totalLines, found.totalLines, offset);
  const matched = query.fuzzy
    ? await similarLines(results, found, search)
    : await matchingLines(deps, found, search, signal);
  const page = matched.slice(offset - 1, offset - 1 + limit);
  return { ...answer(page, found.totalLines, matched.length, offset), matched_lines: matched.length };
}

function answer(found: readonly string[], totalLines: number, available: number, offset: number): Answer {
  const lines: string[] = [];
  let length = 0;
  for (const line of found) {
    const shown =
      line.length > maxLineLength
        ? `${line.slice(0, maxLineLength)}... [${line.length - maxLineLength} more characters]`
        : line;
    length += shown.length;
    if (length > maxAnswerLength && lines.length > 0) break;
    lines.push(shown);
  }
  return {
    lines,
    total_lines: totalLines,
    returned: lines.length,
    offset,
    has_more: offset - 1 + lines.length < available,
  };
}

async function matchingLines(
  { results, matchLines }: ResultDeps,
  result: StoredResult,
  search: string,
  signal: AbortSignal,
): Promise<string[]> {
  const pattern = compile(search);
  const longest = maxSteps / pattern.programSize();
  const long: string[] = [];
  const found = await collect(results, result, (line) => {
    if (line.length <= longest) return pattern.matcher(line).find() ? 1 : 0;
    long.push(line);
    return 1;
  });
  const isFound = long.length > 0 ? (await matchLines(search, long, signal)).values() : undefined;
  return found.filter(({ line }) => line.length <= longest || isFound?.next().value).map(({ line }) => line);
}

function compile(search: string): RE2JS {
  try {
    return RE2JS.compile(search, RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw new Error(`ValueError: Invalid search pattern: ${(error as Error).message}`, { cause: error });
  }
}

async function similarLines(results: ResultStore, result: StoredResult, search: string): Promise<string[]> {
  const found = await collect(results, result, (line) => similarity(search, line), leastSimilarity);
  return found.sort((a, b) => b.score - a.score).map(({ line }) => line);
}

/** Reads all lines, giving others a turn every few milliseconds. */
async function collect(
  results: ResultStore,
  result: StoredResult,
  score: (line: string) => number,
  least = 1,
): Promise<{ line: string; score: number }[]> {
  const found: { line: string; score: number }[] = [];
  let turnAt = performance.now() + turnEveryMs;
  for await (const piece of results.scan(result))
    for (const line of piece) {
      const points = score(line);
      if (points >= least) found.push({ line, score: points });
      if (performance.now() < turnAt) continue;
      await turn();
      turnAt = performance.now() + turnEveryMs;
    }
  return found;
}
