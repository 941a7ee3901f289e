import { RE2JS } from 're2js';

/** A compiled pattern that never takes more than linear time, and refuses texts that would still take too long. */
export interface SafePattern {
  /** How many steps it takes at most for one character. */
  readonly size: number;
  test(text: string): boolean;
}

// Steps of the slowest engine: program size times length of the text. About 0.3 s.
const maxSteps = 50_000_000;

/**
 * Compiles a pattern as JSON Schema and users write it (ECMAScript) for a linear-time engine. Answers undefined
 * when that engine cannot run it (look-ahead, back-references); throws SyntaxError when it is no pattern at all.
 */
export function safePattern(
  pattern: string,
  flags: { ignoreCase?: boolean; multiline?: boolean } = {},
): SafePattern | undefined {
  const compiled = compileRe2(pattern, flags);
  if (!compiled) return undefined;
  const size = Math.max(1, compiled.programSize());
  return {
    size,
    test(text) {
      if (size * text.length > maxSteps)
        throw new RangeError(`a text of ${text.length} characters is too long for this pattern`);
      return compiled.test(text);
    },
  };
}

/** As safePattern, for those who need matches and not only an answer. */
export function compileRe2(
  pattern: string,
  flags: { ignoreCase?: boolean; multiline?: boolean } = {},
): RE2JS | undefined {
  if (!isPattern(pattern))
    throw new SyntaxError(`${JSON.stringify(pattern.slice(0, 200))} is not a valid regular expression`);
  const bits =
    (flags.ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (flags.multiline ? RE2JS.MULTILINE : 0) | RE2JS.LOOKBEHINDS;
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern), bits);
  } catch {
    return undefined;
  }
}

/** True for what ECMAScript takes, with or without its Unicode mode: many real schemas hold escapes that only the old mode allows. */
export function isPattern(pattern: string): boolean {
  for (const flags of ['u', ''])
    try {
      // Only compiled, never run: compiling cannot backtrack.
      new RegExp(pattern, flags);
      return true;
    } catch {
      continue;
    }
  return false;
}

/** How many steps the patterns of one schema may have together: to compile them takes some microseconds each. */
export const maxPatternsSize = 300_000;
/** The engine takes no pattern that repeats anything more often, and says so at once. */
const maxRepeats = 1000;

/** About how many steps a pattern has once it is compiled, read off its text; never much less. */
export function patternSize(pattern: string): number {
  const outside: Piece[] = [];
  let whole: Piece = { size: 0, repeats: 1 };
  let last = whole;
  for (const [part, times] of pattern.matchAll(parts)) {
    if (part === '(') {
      outside.push(whole);
      whole = { size: 0, repeats: 1 };
      continue;
    }
    if (part === ')') {
      last = whole;
      whole = outside.pop() ?? { size: 0, repeats: 1 };
    } else if (times === undefined) last = { size: 1, repeats: 1 };
    // What is repeated stands there once already.
    else last = { size: last.size * Number(times), repeats: last.repeats * Number(times) };
    whole.size += last.size;
    whole.repeats = Math.max(whole.repeats, last.repeats);
    if (whole.repeats > maxRepeats) return pattern.length;
  }
  return whole.size;
}

interface Piece {
  size: number;
  /** How often the innermost part is repeated. */
  repeats: number;
}

/** An escape, a class that is not endless, a bracket, a repetition with its greatest number, or any other character. */
const parts = /\\[pPu]\{[^}]{0,50}\}|\\[^]|\[(?:\\[^]|[^\]\\]){0,200}\]|\{(?:\d{0,9},)?(\d{1,9}),?\}|[^]/g;

const maxLookedAt = 20_000;
const known = new WeakMap<object, readonly string[]>();

/** The patterns of a schema that the safe engine cannot run: values are not checked against them. Kept per schema object. */
export function uncheckedPatterns(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const kept = known.get(schema);
  if (kept) return kept;
  const found = new Set<string>();
  const open: unknown[] = [schema];
  let size = 0;
  // A schema with more than that is refused by whoever compiles it.
  const isRunnable = (pattern: string): boolean => (size += patternSize(pattern)) > maxPatternsSize || canRun(pattern);
  for (let looked = 0; open.length > 0 && looked < maxLookedAt; looked++) {
    const part = open.pop();
    if (typeof part !== 'object' || part === null) continue;
    for (const [key, value] of Object.entries(part)) {
      if (key === 'pattern' && typeof value === 'string' && !isRunnable(value)) found.add(value);
      if (key === 'patternProperties' && typeof value === 'object' && value !== null)
        for (const pattern of Object.keys(value)) if (!isRunnable(pattern)) found.add(pattern);
      open.push(value);
    }
  }
  const patterns = [...found];
  known.set(schema, patterns);
  return patterns;
}

const maxKeptAnswers = 1000;
/** Tools of one API share their patterns. */
const runnable = new Map<string, boolean>();

function canRun(pattern: string): boolean {
  const known = runnable.get(pattern);
  if (known !== undefined) return known;
  let can = true;
  try {
    can = compileRe2(pattern) !== undefined;
  } catch {
    // Not a pattern at all; reported when the schema is compiled.
  }
  if (runnable.size >= maxKeptAnswers) runnable.clear();
  if (pattern.length < 1000) runnable.set(pattern, can);
  return can;
}
