import type { ProgramShape } from './program-shape.ts';
import type { TraceFrame } from './protocol.ts';
import { everyToken } from './python-tokens.ts';
import type { PassedOn } from './try-blocks.ts';

/**
 * Of what a `try` passed on, the lines of its block. Two other failures the interpreter tells with another line than the one that failed: of a call with too few or too many
 * arguments it gives the function's own line, of a variable without a value the statement before. Everything else stays.
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
  if (!last) return frames;
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
  return line ? [...frames.slice(0, -1), { ...last, line }] : frames;
}

function behind({ line, column = 0, ...frame }: TraceFrame, passedOn: readonly PassedOn[]): TraceFrame {
  const found = passedOn.find(
    ({ line: place, columns: [first, last] }) => place === line && first <= column && column <= last,
  );
  if (!found) return { ...frame, line };
  return { ...frame, line: found.from, ...(found.until > found.from && { until: found.until }) };
}
