import { setImmediate as turn } from 'node:timers/promises';
import { RE2JS } from 're2js';
import { fail, type Actor } from '../../schema/index.ts';
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
/** How long all that is matched in a thread may take together. */
const maxMatchingMs = 30_000;
const maxAnswerLength = 4 * 1024 * 1024;
/** What a line costs whoever takes it, besides its characters. */
const lineLength = 32;
const mostLines = maxAnswerLength / lineLength;
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
  const most = Math.min(limit, mostLines);
  if (!search) return answer(await results.lines(found, offset, most), found.totalLines, found.totalLines, offset);
  const { page, count } = query.fuzzy
    ? await similarLines(results, found, search, { offset, limit: most, signal })
    : await matchingLines(deps, found, search, { offset, limit: most, signal });
  return { ...answer(page, found.totalLines, count, offset), matched_lines: count };
}

/** Which of the lines that were found are wanted. */
interface Wanted {
  offset: number;
  limit: number;
  signal: AbortSignal;
}

/** Those lines, and how many were found in all. */
interface Found {
  page: string[];
  count: number;
}

function answer(found: readonly string[], totalLines: number, available: number, offset: number): Answer {
  const lines: string[] = [];
  let length = 0;
  for (const line of found) {
    const shown =
      line.length > maxLineLength
        ? `${line.slice(0, maxLineLength)}... [${line.length - maxLineLength} more characters]`
        : line;
    length += shown.length + lineLength;
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
  { offset, limit, signal }: Wanted,
): Promise<Found> {
  const pattern = compile(search);
  const longest = maxSteps / pattern.programSize();
  const page: string[] = [];
  let count = 0;
  let matchingMs = 0;
  const pace = new Pace(signal);
  for await (const piece of results.scan(result)) {
    const long = piece.filter((line) => line.length > longest);
    const startedAt = performance.now();
    const isFound = long.length > 0 ? (await matchLines(search, long, signal)).values() : undefined;
    matchingMs += long.length > 0 ? performance.now() - startedAt : 0;
    if (matchingMs > maxMatchingMs) throw fail('tool.timeout', { tool: 'ot.result', timeoutMs: maxMatchingMs });
    for (const line of piece) {
      if (pace.isDue) await pace.turn();
      if (line.length > longest ? !isFound?.next().value : !pattern.matcher(line).find()) continue;
      if (++count >= offset && page.length < limit) page.push(line);
    }
  }
  return { page, count };
}

function compile(search: string): RE2JS {
  try {
    return RE2JS.compile(search, RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw new Error(`ValueError: Invalid search pattern: ${(error as Error).message}`, { cause: error });
  }
}

async function similarLines(
  results: ResultStore,
  result: StoredResult,
  search: string,
  { offset, limit, signal }: Wanted,
): Promise<Found> {
  const found: { line: string; score: number }[] = [];
  const pace = new Pace(signal);
  for await (const piece of results.scan(result))
    for (const line of piece) {
      if (pace.isDue) await pace.turn();
      const score = similarity(search, line);
      if (score < leastSimilarity) continue;
      if (found.push({ line, score }) > mostLines)
        throw new Error(
          `ValueError: more than ${mostLines} lines are similar to '${search.slice(0, 100)}'. Search for more, or without fuzzy`,
        );
    }
  const page = found
    .sort((a, b) => b.score - a.score)
    .slice(offset - 1, offset - 1 + limit)
    .map(({ line }) => line);
  return { page, count: found.length };
}

/** Gives others a turn every few milliseconds, and goes on only as long as somebody waits. */
class Pace {
  readonly #signal: AbortSignal;
  #turnAt = performance.now() + turnEveryMs;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  get isDue(): boolean {
    return performance.now() >= this.#turnAt;
  }

  async turn(): Promise<void> {
    this.#signal.throwIfAborted();
    await turn();
    this.#turnAt = performance.now() + turnEveryMs;
  }
}
