import { logicalLines, pythonTokens, type LogicalLine, type Token } from './python-tokens.ts';

/** A place that the interpreter names where a `try` only passed a failure on, and the lines one of which really failed. */
export interface PassedOn {
  line: number;
  /** The first and the last column of the place. */
  columns: [number, number];
  from: number;
  until: number;
  /** Failures of this type may really come from the place itself. */
  unless?: string;
}

interface Block {
  from: number;
  until: number;
}

interface Try {
  indent: number;
  clause: string;
  /** The last line so far. */
  last: LogicalLine;
  /** What it tries. */
  body: Block;
  /** Everything above its `finally`. */
  above: Block;
  lastOfExcept?: LogicalLine;
}

/** Text that changes nothing, put in so that a place has a name: its character `offset` stands for a block. */
interface Mark {
  at: number;
  text: string;
  offset?: number;
  stands?: Block & { unless?: string };
}

/**
 * Of a failure that no `except` takes, that goes through a `finally` or that is raised again, the interpreter names the
 * place of what it compiled last before it passes it on: a line that has nothing to do with it. A constant put there
 * makes that place known. All lines keep their numbers.
 */
export function markTries(code: string): { code: string; passedOn: PassedOn[] } {
  if (!/\btry\b/.test(code)) return { code, passedOn: [] };
  const marks: Mark[] = [];
  const heads: PassedOn[] = [];
  const open: Try[] = [];
  const leave = (indent: number): void => {
    while (open.length > 0 && open.at(-1)!.indent > indent) marks.push(...endMarks(open.pop()!));
  };
  for (const line of logicalLines(code, pythonTokens(code))) {
    const word = line.tokens[0]!.text;
    leave(line.indent);
    const around = open.at(-1);
    if (around && around.indent === line.indent) {
      if (word === 'except' || word === 'else' || word === 'finally') nextClause(around, word);
      else leave(line.indent - 1);
    }
    if (word === 'try') open.push(newTry(line));
    for (const each of open) take(each, line);
    const inside = open.findLast(({ clause }) => clause === 'except');
    if (!inside) continue;
    if (word === 'except' && inside === around) heads.push(headOf(code, line, inside.body));
    const [again, ...rest] = lastStatement(line);
    if (again?.text === 'raise' && rest.length === 0) marks.push(before(again, inside.body));
  }
  leave(-1);
  return insert(code, marks, heads);
}

const newTry = (line: LogicalLine): Try => ({
  indent: line.indent,
  clause: 'try',
  last: line,
  body: { from: 0, until: 0 },
  above: { from: 0, until: 0 },
});

function take(block: Try, line: LogicalLine): void {
  block.last = line;
  const { tokens } = line;
  // The line of the `try` itself counts only where its block stands beside it.
  if (block.body.from === 0 && tokens[0]!.text === 'try' && tokens.length <= 2) return;
  for (const [part, isIn] of [
    [block.body, block.clause === 'try'],
    [block.above, block.clause !== 'finally'],
  ] as const)
    if (isIn) [part.from, part.until] = [part.from || tokens[0]!.line, lastLine(tokens.at(-1)!)];
}

function nextClause(block: Try, word: string): void {
  if (block.clause === 'except') block.lastOfExcept = block.last;
  block.clause = word;
}

function endMarks(block: Try): Mark[] {
  const lastOfExcept = block.clause === 'except' ? block.last : block.lastOfExcept;
  return [
    ...(lastOfExcept ? atEnd(lastOfExcept, block.body) : []),
    ...(block.clause === 'finally' ? atEnd(block.last, block.above) : []),
  ];
}

const before = (token: Token, stands: Block): Mark => ({ at: token.start, text: '0;', stands });

/** What is not the end of a statement gets no mark: the program is broken, and the parser says why. */
function atEnd(line: LogicalLine, stands: Block): Mark[] {
  const last = line.tokens.at(-1)!;
  const [word, first] = lastStatement(line);
  const isWhole = last.kind !== 'broken' && last.depth === 0 && !/^[:;,\\([{]$/.test(last.text);
  if (!word || !isWhole || stands.from === 0) return [];
  // Behind these nothing is compiled any more.
  if (word.text === 'break' || word.text === 'continue') return [before(word, stands)];
  if (word.text === 'raise') return first ? raised(first, stands) : [];
  if (word.text !== 'return') return [{ at: last.end, text: '; 0', offset: 2, stands }];
  if (!first) return [{ at: word.end, text: ' (None, 0)[0]', offset: 1, stands }];
  return [
    { at: first.start, text: '((', stands },
    { at: last.end, text: '), 0)[0]' },
  ];
}

/** An exception that is made on the spot has the same place as what is passed on, but another type. */
const raised = (first: Token, stands: Block): Mark[] =>
  first.kind === 'name' && /^[A-Z]/.test(first.text)
    ? [{ at: first.start, text: '', stands: { ...stands, unless: first.text } }]
    : [];

/** The last of the statements on a line, behind the head of a block too. */
function lastStatement({ tokens }: LogicalLine): Token[] {
  const semicolon = tokens.findLastIndex(({ text, depth }) => text === ';' && depth === 0);
  const isHead = /^(?:try|except|else|finally|if|elif|for|while|with)$/.test(tokens[0]!.text);
  const colon = isHead ? tokens.findIndex(({ text, depth }) => text === ':' && depth === 0) : -1;
  return tokens.slice(Math.max(semicolon, colon) + 1);
}

/** The types of an `except` are what was compiled last where its block has nothing that is. */
function headOf(code: string, { tokens }: LogicalLine, body: Block): PassedOn {
  const colon = tokens.find(({ text, depth }) => text === ':' && depth === 0) ?? tokens.at(-1)!;
  return { line: tokens[0]!.line, columns: [1, columnAt(code, colon.start)], ...body };
}

function insert(code: string, marks: Mark[], heads: PassedOn[]): { code: string; passedOn: PassedOn[] } {
  const passedOn = [...heads];
  const parts: string[] = [];
  let at = 0;
  let line = 1;
  /** The marked text from the start of its last line. */
  let current = '';
  for (const { at: place, text, offset, stands } of marks.sort((a, b) => a.at - b.at)) {
    const passed = code.slice(at, place);
    const lines = passed.split('\n');
    line += lines.length - 1;
    current = lines.length > 1 ? lines.at(-1)! : current + passed;
    if (stands) {
      const column = [...current].length + 1 + (offset ?? 0);
      passedOn.push({ line, columns: [column, column], ...stands });
    }
    current += text;
    parts.push(passed, text);
    at = place;
  }
  return { code: parts.join('') + code.slice(at), passedOn };
}

/** In characters, counted from 1. */
const columnAt = (text: string, at: number): number =>
  Array.from(text.slice(text.lastIndexOf('\n', at - 1) + 1, at)).length + 1;

const lastLine = ({ line, text }: Token): number => line + text.split('\n').length - 1;
