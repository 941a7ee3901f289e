import type { ProgramShape } from './program-shape.ts';
import type { TraceFrame } from './protocol.ts';
import { everyToken, type Token } from './python-tokens.ts';
import type { PassedOn } from './try-blocks.ts';

/**
 * Of what a `try` passed on, the lines of its block. Other failures the interpreter tells without the line that failed: of a
 * call with too few or too many arguments it gives the function's own line, of a variable without a value the statement
 * before, of an exception made with more than a text none at all. Everything else stays.
 */
export function rightLines(
  { type, message }: { type: string; message: string },
  { shape, passedOn }: { shape: Pick<ProgramShape, 'tokens'>; passedOn: readonly PassedOn[] },
  told: readonly TraceFrame[],
): readonly TraceFrame[] {
  // A name that an `except` gives may itself be unknown.
  const places = passedOn.filter(
    ({ columns: [first, last], unless }) => unless !== type && (type !== 'NameError' || first === last),
  );
  const frames = told.map((frame) => behind(frame, places));
  const last = frames.at(-1);
  if (!last) return message.includes('exceptions can only be called with') ? oddExceptions(shape.tokens) : frames;
  const called = type === 'TypeError' && /^(\S+)\(\) (?:missing|takes) /.exec(message)?.[1];
  const unset = type === 'UnboundLocalError' && /'([^']+)'/.exec(message)?.[1];
  if (!called && !unset) return frames;
  const tokens = [...everyToken(shape.tokens)];
  const linesOf = (name: string, isWanted: (i: number) => boolean): number[] => [
    ...new Set(tokens.flatMap(({ text, line }, i) => (text === name && isWanted(i) ? [line] : []))),
  ];
  const isDefined = (i: number): boolean => tokens[i - 1]?.text === 'def';
  if (called && linesOf(called, isDefined).includes(last.line)) {
    const calls = linesOf(called, (i) => !isDefined(i) && tokens[i + 1]?.text === '(');
    return calls.length === 1 ? [{ line: calls[0]! }] : frames;
  }
  const begins = last.functionName === undefined ? 1 : (linesOf(last.functionName, isDefined)[0] ?? 1);
  const line = unset && linesOf(unset, () => true).find((use) => use >= Math.max(last.line, begins));
  if (!line) return frames;
  const { functionName } = last;
  return [...frames.slice(0, -1), { line, ...(functionName !== undefined && { functionName }) }];
}

/** The line of the only exception that is made of something else than one text; none where there are several. */
function oddExceptions(all: readonly Token[]): TraceFrame[] {
  const tokens = [...everyToken(all)];
  const isOdd = (i: number): boolean =>
    /(?:Error|Exception)$/.test(tokens[i]!.text) &&
    tokens[i + 1]?.text === '(' &&
    tokens[i + 2]?.text !== ')' &&
    !(tokens[i + 2]?.kind === 'string' && tokens[i + 3]?.text === ')');
  const lines = new Set(tokens.flatMap(({ line }, i) => (isOdd(i) ? [line] : [])));
  return lines.size === 1 ? [{ line: [...lines][0]! }] : [];
}

function behind({ line, column = 0, ...frame }: TraceFrame, passedOn: readonly PassedOn[]): TraceFrame {
  const found = passedOn.find(
    ({ line: place, columns: [first, last] }) => place === line && first <= column && column <= last,
  );
  if (!found) return { ...frame, line };
  return { ...frame, line: found.from, ...(found.until > found.from && { until: found.until }) };
}
