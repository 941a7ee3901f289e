import { certainCalls, type CertainCalls } from './certain-calls.ts';
import { FirstCall } from './first-call.ts';
import { programShape, type ProgramShape } from './program-shape.ts';
import { nothing, type TraceFrame } from './protocol.ts';
import { expandSnippets, type Snippets } from './snippets.ts';
import { stripWrapping } from './strip-wrapping.ts';
import { markTries, type PassedOn } from './try-blocks.ts';

/** A program ready for the interpreter, and the way back to its author's lines. */
export interface Prepared {
  /** What the author wrote, without fences and prefix. */
  source: string;
  /** What the interpreter runs. */
  code: string;
  shape: ProgramShape;
  /** Places of the code that stand for others in a failure. */
  passedOn: PassedOn[];
  /** What it is certain to call once it makes the first of these calls. */
  certain: CertainCalls;
  /** True once it was seen to make exactly these calls: nothing but its text decides on them, so it always will. */
  isProven: boolean;
  /** What it calls first where its text alone does not show it. */
  firstCall: FirstCall;
  /** The code with its first `count` certain calls, or the closed one, replaced by inputs of the names that `knownName` gives, on the same lines. */
  withKnown(count: number): string;
  /** Lines of the interpreter as lines of the text that the shape was read from. */
  shapeLines(frames: readonly TraceFrame[]): TraceFrame[];
  /** Those as lines of `source`. */
  ownLines(frames: readonly TraceFrame[]): TraceFrame[];
}

const maxKept = 256;
const maxKeptLength = 32 * 1024;
const kept = new Map<string, Prepared>();

const knownPrefix = '__known_';

/** The name of the input that stands for the answer of a call. */
export const knownName = (index: number): string => `${knownPrefix}${index}__`;

/** Makes a program ready. Throws SnippetError; everything else is the interpreter's to refuse. */
export function prepare(text: string, snippets: Snippets): Prepared {
  const found = kept.get(text);
  if (found) {
    // The ones used last stay.
    kept.delete(text);
    kept.set(text, found);
    return found;
  }
  const source = stripWrapping(text);
  const expanded = expandSnippets(source, snippets);
  // From here on the text has marks in it, on the same lines.
  const { code, passedOn } = markTries(expanded.code);
  const shape = programShape(code);
  // Inside a function the interpreter confuses names that its top level has not met; a line that never runs makes them known.
  const front = shape.forwardNames.length > 0 ? `if False: ${shape.forwardNames.join(' = ')} = None\n` : '';
  const end = shape.endsInExpression ? '' : `\n'${nothing}'`;
  const lastLine = code.split('\n').length;
  const certain = certainCalls(shape);
  if (code.includes(knownPrefix)) {
    certain.isAtOnce = false;
    delete certain.closed;
  }
  const ownLine = (line: number): number => expanded.lines?.[line - 1] ?? line;
  let known: { count: number; code: string } | undefined;
  const prepared: Prepared = {
    source,
    code: front + code + end,
    shape,
    passedOn,
    certain,
    isProven: false,
    firstCall: new FirstCall(),
    withKnown(count) {
      if (known?.count !== count)
        known = {
          count,
          code: front + replaceCalls(code, certain.closed ? [certain.closed] : certain.calls.slice(0, count)) + end,
        };
      return known.code;
    },
    shapeLines: (frames) =>
      frames.map((frame) => ({
        ...frame,
        line: Math.min(lastLine, Math.max(1, frame.line - (front === '' ? 0 : 1))),
      })),
    ownLines: (frames) =>
      frames.map((frame) => ({
        ...frame,
        line: ownLine(frame.line),
        ...(frame.until !== undefined && { until: ownLine(frame.until) }),
      })),
  };
  if (!expanded.lines && text.length <= maxKeptLength) {
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value!);
    kept.set(text, prepared);
  }
  return prepared;
}

function replaceCalls(code: string, calls: readonly { start: number; end: number }[]): string {
  let text = '';
  let at = 0;
  for (const [i, { start, end }] of calls.entries()) {
    // Whatever spans lines keeps its number of lines, so that those below keep theirs.
    text += `${code.slice(at, start)}(${knownName(i)}${code.slice(start, end).replace(/[^\n]+/g, '')})`;
    at = end;
  }
  return text + code.slice(at);
}
