import { createTwoFilesPatch, diffLines, OMIT_HEADERS } from 'diff';
import { RE2JS } from 're2js';

export interface FindArgs {
  text: string;
  pattern: string;
  regex: boolean;
  ignore_case: boolean;
  limit: number;
}

export interface ReplaceArgs extends FindArgs {
  replacement: string;
}

const maxShown = 500;
const maxEdits = 10_000;

/** What the text bundle computes; pure, run in a thread. */
export const textTasks = {
  'text.find': ({ text, limit, ...how }: FindArgs) => {
    const matches: object[] = [];
    let count = 0;
    const place = placer(text);
    for (const match of matchesOf(text, how)) {
      if (++count <= limit)
        matches.push({
          ...place(match.start),
          text: match.text.slice(0, maxShown),
          ...(match.groups.length > 0 && { groups: match.groups }),
        });
    }
    return { matches, count, truncated: count > matches.length };
  },

  'text.replace': ({ text, replacement, limit, ...how }: ReplaceArgs) => {
    let result = '';
    let end = 0;
    let count = 0;
    for (const match of matchesOf(text, how)) {
      if (count === limit) break;
      count++;
      result += text.slice(end, match.start) + (how.regex ? filled(replacement, match) : replacement);
      end = match.end;
    }
    return { text: result + text.slice(end), count };
  },

  /** Which of these lines a search finds: those that are too long for their pattern to be looked through elsewhere. */
  'ot.result': ({ search, lines }: { search: string; lines: readonly string[] }) => {
    const pattern = RE2JS.compile(search, RE2JS.CASE_INSENSITIVE);
    return lines.map((line) => pattern.matcher(line).find());
  },

  'text.diff': ({ before, after, context }: { before: string; after: string; context: number }) => {
    const changes = diffLines(before, after, { maxEditLength: maxEdits });
    const patch =
      changes &&
      createTwoFilesPatch('before', 'after', before, after, undefined, undefined, {
        context,
        maxEditLength: maxEdits,
        headerOptions: OMIT_HEADERS,
      });
    if (!changes || patch === undefined)
      throw new Error(`The texts differ in more than ${maxEdits} lines. Compare smaller parts.`);
    const lines = (kind: 'added' | 'removed'): number =>
      changes.reduce((sum, change) => sum + (change[kind] ? change.count : 0), 0);
    return {
      is_equal: before === after,
      added: lines('added'),
      removed: lines('removed'),
      diff: before === after ? '' : patch,
    };
  },
};

interface Match {
  start: number;
  end: number;
  text: string;
  groups: (string | null)[];
}

function* matchesOf(
  text: string,
  { pattern, regex, ignore_case }: { pattern: string; regex: boolean; ignore_case: boolean },
): Generator<Match> {
  if (pattern === '') throw new Error('The pattern is empty. Say what to look for.');
  const matcher = compiled(regex ? RE2JS.translateRegExp(pattern) : RE2JS.quote(pattern), ignore_case).matcher(text);
  while (matcher.find()) {
    const groups = Array.from({ length: matcher.groupCount() }, (_, index) => matcher.group(index + 1));
    yield { start: matcher.start(), end: matcher.end(), text: matcher.group() ?? '', groups };
  }
}

function compiled(pattern: string, ignoreCase: boolean): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0));
  } catch (error) {
    throw new Error(
      `Invalid pattern: ${(error as Error).message}. Look-ahead and back-references are not supported (RE2 syntax).`,
      { cause: error },
    );
  }
}

/** `$1`, `$2` and `$0` stand for groups and the whole match, `$$` for a dollar sign. */
function filled(replacement: string, match: Match): string {
  const values: Partial<Record<string, string>> = { $: '$', 0: match.text };
  return replacement.replace(/\$(\$|\d{1,2})/g, (_, key: string) => values[key] ?? match.groups[Number(key) - 1] ?? '');
}

/** Line and column (from 1) of ascending places. */
function placer(text: string): (at: number) => { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  return (at) => {
    for (let next = text.indexOf('\n', lineStart); next >= 0 && next < at; next = text.indexOf('\n', lineStart)) {
      line++;
      lineStart = next + 1;
    }
    return { line, column: at - lineStart + 1 };
  };
}
